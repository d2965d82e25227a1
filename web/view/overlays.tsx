/** What lies over the page: the palette, the list of keys, and the panel where it has no room of its own. */
import { useSignal } from "@preact/signals";
import { agentName, type Shape } from "../model/words.ts";
import { abort, fork } from "../state/actions.ts";
import { areKeysOpen, focusCard, isPaletteOpen } from "../state/keys.ts";
import { chooseFile, recording } from "../state/recording.ts";
import { go, goView, route } from "../state/route.ts";
import { current } from "../state/session.ts";
import { allRows, shapeOfRow, titleOf } from "../state/sessions.ts";
import { shownConversation } from "../state/store.ts";
import { toggleTheme } from "../state/theme.ts";
import { Status } from "./icons.tsx";
import { isPanelOpen, Sheet } from "./panel-sheet.tsx";
import { TurnPanel } from "./turn-panel.tsx";

export function Overlays() {
  const store = route.value.page === "recording" ? recording.value : current.value;
  return (
    <>
      {isPaletteOpen.value && <Palette />}
      {areKeysOpen.value && <Keys />}
      {isPanelOpen.value && store !== null && (
        <Sheet label="Turn and session" side onClose={closePanel}>
          <TurnPanel store={store} conversation={shownConversation(store)} />
        </Sheet>
      )}
    </>
  );
}

const closePanel = (): void => {
  isPanelOpen.value = false;
};
const closePalette = (): void => {
  isPaletteOpen.value = false;
};
const closeKeys = (): void => {
  areKeysOpen.value = false;
};

interface Choice {
  readonly key: string;
  readonly label: string;
  readonly note: string;
  readonly shape: Shape | null;
  readonly run: () => void;
}

function choices(): Choice[] {
  const store = current.value;
  const act = (label: string, run: () => void): Choice => ({ key: label, label, note: "", shape: null, run });
  const here = route.value;
  const isOpen = here.page === "session" || here.page === "recording";
  return [
    act("New session", () => go({ page: "new" })),
    ...(isOpen
      ? [
          act("Conversation", () => goView("conversation")),
          act("Lanes", () => goView("lanes")),
          act("Timeline", () => goView("timeline")),
        ]
      : []),
    ...(store === null
      ? []
      : [
          act("Answer what is asked", () => focusCard()),
          act("Stop the turn", () => void abort(store.id)),
          act("Fork this session", () => void fork(store.id)),
        ]),
    act("Open a recording", chooseFile),
    act("Usage", () => go({ page: "usage" })),
    act("Health", () => go({ page: "health" })),
    act("Light or dark", toggleTheme),
    act("Keys", () => {
      areKeysOpen.value = true;
    }),
    ...allRows.value.map((row) => ({
      key: row.sessionId,
      label: titleOf(row),
      note: agentName(row.agent),
      shape: shapeOfRow(row),
      run: () => go({ page: "session", id: row.sessionId, view: "conversation" }),
    })),
  ];
}

const MOST_CHOICES = 50;

/** Every letter of what was typed occurs, in order. */
function fits(label: string, wanted: string): boolean {
  let from = 0;
  for (const letter of wanted.toLowerCase().replaceAll(" ", "")) {
    from = label.toLowerCase().indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

function Palette() {
  const wanted = useSignal("");
  const at = useSignal(0);
  const found = choices()
    .filter(({ label, note }) => fits(`${label} ${note}`, wanted.value))
    .slice(0, MOST_CHOICES);
  const run = (choice: Choice | undefined): void => {
    closePalette();
    choice?.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") at.value = Math.min(found.length - 1, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Enter") run(found[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Sheet label="Palette" onClose={closePalette}>
      <div class="palette" style={{ display: "contents" }}>
        <input
          ref={(input) => input?.focus()}
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-activedescendant={`choice-${at.value}`}
          aria-label="Command or session"
          placeholder="Command or session…"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
            at.value = 0;
          }}
          onKeyDown={onKeyDown}
        />
        <ul id="palette-choices" role="listbox" aria-label="Choices">
          {found.map((choice, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keys
            <li
              key={choice.key}
              id={`choice-${index}`}
              role="option"
              aria-selected={index === at.value}
              tabIndex={-1}
              onClick={() => run(choice)}
            >
              {choice.shape !== null && <Status shape={choice.shape} />}
              <span class="grow cut">{choice.label}</span>
              <span class="dim">{choice.note}</span>
            </li>
          ))}
        </ul>
      </div>
    </Sheet>
  );
}

const keyTable: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["Palette", "⌘K"],
      ["Search", "/"],
      ["New session", "N"],
      ["Session before, after", "[ ]"],
      ["Next that needs you", "!"],
      ["Conversation, lanes, timeline", "G then C L T"],
      ["Light or dark", "D"],
      ["Close; twice: stop the turn", "Esc"],
    ],
  ],
  [
    "A request that has the focus",
    [
      ["Allow once", "A"],
      ["Always", "⇧A"],
      ["Reject", "R"],
      ["Reject with a message", "⇧R"],
      ["Choose an answer", "1–9"],
      ["Answer", "↵"],
    ],
  ],
  [
    "Conversation",
    [
      ["Next, previous entry", "J K"],
      ["Open or fold", "↵"],
      ["Open or fold all", "E"],
      ["Why, in the lanes", "W"],
    ],
  ],
  [
    "Lanes",
    [
      ["Next, previous event", "J K"],
      ["Fold deltas", "F"],
      ["Play", "Space"],
      ["Moment before, after; by turn", "← → ⇧"],
    ],
  ],
  [
    "Timeline",
    [
      ["Next, previous row", "J K"],
      ["Zoom in, out, fit", "+ − 0"],
      ["Open in the lanes", "↵"],
    ],
  ],
];

function Keys() {
  return (
    <Sheet label="Keys" onClose={closeKeys}>
      <header>
        <h2>Keys</h2>
      </header>
      <div class="body keys" tabIndex={0}>
        {keyTable.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([what, key]) => (
                <>
                  <dt>{what}</dt>
                  <dd>
                    <kbd>{key}</kbd>
                  </dd>
                </>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Sheet>
  );
}

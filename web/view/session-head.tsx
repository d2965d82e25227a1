/** The head of a session: its name and status, its three views, and what can be done to it. */
import { useSignal } from "@preact/signals";
import { comparisonOf } from "../../src/protocol/comparison.ts";
import { openRequests } from "../model/conversation.ts";
import type { Conversation } from "../model/conversation-state.ts";
import { nameText, visibleText } from "../model/plain.ts";
import { agentName, folderName, type Shape, shapeOfEnd, shapeOfStatus, shapeWords } from "../model/words.ts";
import { abort, fork, remove, rename, terminate } from "../state/actions.ts";
import { exportAs } from "../state/export.ts";
import { armed } from "../state/keys.ts";
import { go, goView, linkTo, route, sessionViews } from "../state/route.ts";
import { needing, rowOf } from "../state/sessions.ts";
import { placeOf, type SessionStore } from "../state/store.ts";
import { Icon } from "./icons.tsx";
import { Menu } from "./menu.tsx";
import { openPanel } from "./panel-sheet.tsx";

export function shapeOf(conversation: Conversation): Shape {
  if (conversation.status !== "idle") return shapeOfStatus(conversation.status);
  const end = conversation.turns.at(-1)?.end;
  return end === undefined || end === null ? "idle" : end.reason === "completed" ? "idle" : shapeOfEnd(end.reason);
}

export function SessionHead({
  store,
  conversation,
}: {
  readonly store: SessionStore;
  readonly conversation: Conversation;
}) {
  const shape = shapeOf(conversation);
  const isPast = store.at.value !== null;
  const { sequence, last } = placeOf(store);
  return (
    <>
      <header class="head">
        <a class="btn ghost icon phone-only" href={linkTo({ page: "home" })} aria-label="All sessions">
          <Icon sign="left" />
        </a>
        <Title store={store} conversation={conversation} />
        {isPast ? (
          <span class="pill idle num">
            as it was at {sequence} of {last}
          </span>
        ) : (
          <span class={`pill ${shape}`}>{shape === "needs" ? needsWords(conversation) : shapeWords[shape]}</span>
        )}
        <span class="dim cut wide-only">{visibleText(aboutWords(store, conversation))}</span>
        <span class="grow" />
        <ComparisonLink id={store.id} />
        <Views />
        <button type="button" class="btn ghost icon narrow-only" aria-label="Turn and session" onClick={openPanel}>
          <Icon sign="panel" />
        </button>
        {store.kind === "session" && conversation.turn !== null && !isPast && (
          <button type="button" class="btn danger wide-only" onClick={() => void abort(store.id)}>
            {armed.value ? "Press again to stop" : "Stop"} <kbd>Esc</kbd>
          </button>
        )}
        <SessionMenu store={store} conversation={conversation} />
      </header>
      <div class="view-tabs">
        <ViewTabs />
      </div>
    </>
  );
}

/** To the others that got the same prompt. */
function ComparisonLink({ id }: { readonly id: string }) {
  const comparison = comparisonOf(rowOf(id)?.metadata);
  if (comparison === null) return null;
  return (
    <a class="btn ghost" href={linkTo({ page: "compare", id: comparison.id })}>
      Comparison
    </a>
  );
}

function needsWords(conversation: Conversation): string {
  const total = needing.value.length;
  const open = openRequests(conversation).length;
  if (open > 1) return `Needs you: ${open}`;
  return total > 1 ? `Needs you · 1 of ${total}` : "Needs you";
}

function aboutWords(store: SessionStore, { agent, agentVersion, model, directory }: Conversation): string {
  const name = agentVersion === null ? agentName(agent) : `${agentName(agent)} ${agentVersion}`;
  if (store.kind === "recording") return `${name} · recording`;
  return [name, model, directory === null ? null : nameText(folderName(directory))]
    .filter((part) => part !== null)
    .join(" · ");
}

export function sessionTitle(store: SessionStore, { title }: Conversation): string {
  return title ?? store.name ?? `Session ${store.id.slice(0, 8)}`;
}

function Title({ store, conversation }: { readonly store: SessionStore; readonly conversation: Conversation }) {
  const draft = useSignal<string | null>(null);
  const title = sessionTitle(store, conversation);
  const save = (): void => {
    const wanted = draft.value?.trim() ?? "";
    if (wanted !== "" && wanted !== title) void rename(store.id, wanted);
    draft.value = null;
  };
  if (store.kind === "recording") return <h1 class="cut">{visibleText(title)}</h1>;
  if (draft.value !== null) {
    return (
      <h1>
        <input
          aria-label="Title of the session"
          value={draft.value}
          ref={(input) => input?.focus()}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") save();
            if (event.key === "Escape") draft.value = null;
            event.stopPropagation();
          }}
          onBlur={save}
        />
      </h1>
    );
  }
  return (
    <h1>
      <button
        type="button"
        title="Rename"
        onClick={() => {
          draft.value = title;
        }}
      >
        {visibleText(title)}
      </button>
    </h1>
  );
}

const labels = { conversation: "Conversation", lanes: "Lanes", timeline: "Timeline" } as const;

function Views() {
  return (
    <span class="wide-only">
      <ViewTabs />
    </span>
  );
}

function ViewTabs() {
  const here = route.value;
  const view = here.page === "session" || here.page === "recording" ? here.view : null;
  return (
    <div class="seg" role="group" aria-label="View">
      {sessionViews.map((name) => (
        <button key={name} type="button" aria-pressed={name === view} onClick={() => goView(name)}>
          {labels[name]}
        </button>
      ))}
    </div>
  );
}

function SessionMenu({ store, conversation }: { readonly store: SessionStore; readonly conversation: Conversation }) {
  const isSession = store.kind === "session";
  const confirmDelete = (): void => {
    if (confirm("Delete this session and all of its events?")) void remove(store.id);
  };
  return (
    <Menu label="Session">
      {isSession && conversation.turn !== null && (
        <button type="button" class="danger" onClick={() => void abort(store.id)}>
          Stop the turn
        </button>
      )}
      {isSession && (
        <button type="button" onClick={() => void fork(store.id)}>
          Fork from here
        </button>
      )}
      <button type="button" onClick={() => void exportAs(store, "recording")}>
        Export as a recording
      </button>
      <button type="button" onClick={() => void exportAs(store, "events")}>
        Export events
      </button>
      <button type="button" onClick={() => void exportAs(store, "markdown")}>
        Export as Markdown
      </button>
      {isSession && <hr />}
      {isSession && conversation.ended === null && (
        <button type="button" onClick={() => void terminate(store.id)}>
          End the session
        </button>
      )}
      {isSession && (
        <button type="button" class="danger" onClick={confirmDelete}>
          Delete…
        </button>
      )}
      {!isSession && (
        <button type="button" onClick={() => go({ page: "home" })}>
          Close the recording
        </button>
      )}
    </Menu>
  );
}

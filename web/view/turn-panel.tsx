/** What belongs to the turn and its session: todos, queue, changed files, tokens, and where it all happens. */
import type { FileRefPart } from "../../src/protocol/items.ts";
import type { Conversation } from "../model/conversation-state.ts";
import { type DiffCount, diffCount } from "../model/diff.ts";
import type { Entry } from "../model/entries.ts";
import { nameText, visibleText } from "../model/plain.ts";
import { agentName, clock, count, duration, folderName, money, shortPath, usageWords } from "../model/words.ts";
import { dropQueued } from "../state/actions.ts";
import { now } from "../state/clock.ts";
import { link } from "../state/link.ts";
import type { SessionStore } from "../state/store.ts";
import { Icon, Status } from "./icons.tsx";

interface PanelProps {
  readonly store: SessionStore;
  readonly conversation: Conversation;
}

export function TurnPanel({ store, conversation }: PanelProps) {
  const turn = conversation.turn ?? conversation.turns.at(-1) ?? null;
  const from = turn?.startedAt ?? 0;
  const took = turn === null ? null : turn.end === null ? clock(now.value - from) : duration(turn.end.at - from);
  return (
    <>
      <div class="head">
        <h2 class="grow">{turn === null ? "No turn yet" : `Turn ${turn.number}`}</h2>
        {turn !== null && (
          <span class="dim num">
            {took}
            {turn.steps > 0 && ` · ${turn.steps === 1 ? "1 model step" : `${turn.steps} model steps`}`}
          </span>
        )}
      </div>
      <Todos conversation={conversation} />
      <Queue store={store} conversation={conversation} />
      <Files conversation={conversation} />
      <Usage conversation={conversation} />
      <About store={store} conversation={conversation} />
    </>
  );
}

const todoShapes = { completed: "completed", cancelled: "stopped", in_progress: "half", pending: "idle" } as const;

function Todos({ conversation }: { readonly conversation: Conversation }) {
  const { todos } = conversation;
  if (todos.length === 0) return null;
  const done = todos.filter(({ status }) => status === "completed").length;
  return (
    <section>
      <h2>
        Todos{" "}
        <span class="num">
          {done} of {todos.length}
        </span>
      </h2>
      <ul>
        {todos.map(({ id, content, status }) => {
          const shape = todoShapes[status];
          return (
            <li key={id} class={status === "completed" || status === "cancelled" ? "todo done" : "todo"}>
              {shape === "half" ? (
                <span class="c-running">
                  <Icon sign="half" />
                </span>
              ) : (
                <Status shape={shape} />
              )}
              <span>{visibleText(content)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Queue({ store, conversation }: PanelProps) {
  const { queue } = conversation;
  if (queue.length === 0) return null;
  const isFixed = store.kind === "recording" || store.at.value !== null;
  return (
    <section>
      <h2>
        Queue <span class="num">{queue.length}</span>
      </h2>
      <ol>
        {queue.map(({ prompt_id, preview }, index) => (
          <li key={prompt_id} class="queued">
            <span class="dim num">{index + 1}</span>
            <span>{visibleText(preview)}</span>
            {!isFixed && (
              <button
                type="button"
                class="btn ghost icon"
                title="Remove from the queue"
                aria-label={`Remove from the queue: ${visibleText(preview)}`}
                disabled={link.value.state !== "live"}
                onClick={() => void dropQueued(store.id, prompt_id)}
              >
                <Icon sign="close" />
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

const NOTHING: DiffCount = { added: 0, removed: 0 };
const counts = new WeakMap<FileRefPart, DiffCount>();

/** A change is counted once: the panel is drawn again with every delta. */
function counted(file: FileRefPart, diff: string): DiffCount {
  const known = counts.get(file) ?? diffCount(diff);
  counts.set(file, known);
  return known;
}

function changedFiles(entries: readonly Entry[]): Map<string, { added: number; removed: number }> {
  const files = new Map<string, { added: number; removed: number }>();
  for (const entry of entries) {
    if (entry.type !== "tool") continue;
    for (const file of entry.files) {
      const { path, diff, action } = file;
      if (action === "read") continue;
      const before = files.get(path) ?? { added: 0, removed: 0 };
      const { added, removed } = diff === undefined ? NOTHING : counted(file, diff);
      files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
    for (const [path, { added, removed }] of changedFiles(entry.children)) {
      const before = files.get(path) ?? { added: 0, removed: 0 };
      files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
  }
  return files;
}

function Files({ conversation }: { readonly conversation: Conversation }) {
  const files = changedFiles(conversation.entries);
  if (files.size === 0) return null;
  return (
    <section>
      <h2>
        Files changed <span class="num">{files.size}</span>
      </h2>
      <dl class="kv">
        {[...files].map(([path, { added, removed }]) => (
          <FileRow key={path} path={shortPath(path, conversation.directory)} added={added} removed={removed} />
        ))}
      </dl>
    </section>
  );
}

function FileRow({
  path,
  added,
  removed,
}: {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}) {
  return (
    <>
      <dt class="mono cut" title={nameText(path)}>
        {nameText(path)}
      </dt>
      <dd>
        {added > 0 && <span class="added">+{added}</span>} {removed > 0 && <span class="removed">−{removed}</span>}
      </dd>
    </>
  );
}

function Usage({ conversation }: { readonly conversation: Conversation }) {
  const turn = conversation.turn ?? conversation.turns.at(-1);
  const usage = turn?.usage;
  if (usage === null || usage === undefined) return null;
  const { input, output, reasoning, cache_read, cache_write } = usage.tokens;
  const rows = [
    ["Cache", cache_read + cache_write, "k-cache"],
    ["Input", input, "k-input"],
    ["Output", output, "k-output"],
    ["Reasoning", reasoning, "k-reasoning"],
  ] as const;
  return (
    <section>
      <h2>
        Usage <span>this turn</span>
      </h2>
      <div class="stack" aria-hidden="true">
        {rows.map(([name, value, kind]) => value > 0 && <i key={name} class={kind} style={{ flexGrow: value }} />)}
      </div>
      <dl class="kv">
        {rows.map(
          ([name, value, kind]) =>
            value > 0 && (
              <>
                <dt>
                  <i class={`dot ${kind}`} />
                  {name}
                </dt>
                <dd>{count(value)}</dd>
              </>
            ),
        )}
        <dt class="total">Cost</dt>
        <dd class="total">{usage.cost_usd === null ? "not priced by the agent" : money(usage.cost_usd)}</dd>
      </dl>
    </section>
  );
}

function About({ store, conversation }: PanelProps) {
  const { directory, trusted, agent, agentVersion, model, permissionMode, unparsed, usage } = conversation;
  const rows: [string, string][] = [];
  if (directory !== null && directory !== "") {
    const trust = trusted === null ? "" : trusted ? " · trusted" : " · not trusted";
    rows.push(["Folder", `${nameText(folderName(directory))}${trust}`]);
  }
  rows.push(["Agent", `${agentName(agent)}${agentVersion === null ? "" : ` ${agentVersion}`}`]);
  if (model !== null) rows.push(["Model", model]);
  if (permissionMode !== null) rows.push(["Permissions", permissionMode]);
  const events = store.live.sequence;
  rows.push(["Events", `${events.toLocaleString("en")} · ${unparsed} unparsed`]);
  rows.push(["Total", usageWords(usage)]);
  return (
    <section>
      <h2>Session</h2>
      <dl class="kv">
        {rows.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd title={name === "Folder" ? nameText(directory ?? "") : undefined}>{visibleText(value)}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

/** How a turn ended and how that is known: one line, and for an error everything that helps. */
import type { Conversation } from "../model/conversation-state.ts";
import type { Ending, Turn } from "../model/entries.ts";
import { outputText, visibleText } from "../model/plain.ts";
import { isFields } from "../model/tools.ts";
import { agentName, duration, endedBy, endWord, plural, shapeOfEnd, usageWords } from "../model/words.ts";
import { go } from "../state/route.ts";
import { selectSequence } from "../state/selection.ts";
import { lookAt, type SessionStore } from "../state/store.ts";
import { focusComposer } from "./composer.tsx";
import { CopyButton } from "./copy.tsx";
import { Status } from "./icons.tsx";

interface EndProps {
  readonly turn: Turn;
  readonly conversation: Conversation;
  readonly store: SessionStore;
}

export function EndView({ turn, conversation, store }: EndProps) {
  const { end } = turn;
  if (end === null) return null;
  return (
    <>
      {end.error !== null && (end.reason === "error" || end.reason === "interrupted") && (
        <Failure turn={turn} end={end} conversation={conversation} store={store} />
      )}
      <p class="end" data-entry={`end ${turn.id}`}>
        <Status shape={shapeOfEnd(end.reason)} named />
        <span>
          <b>{endWord(end.reason)}</b>, {endedBy(end)}
          {turn.background.length > 0 && `; ${plural(turn.background.length, "task")} in the background`}
        </span>
        <span class="line" />
        <button type="button" class="why-link num" title="Why, in the lanes" onClick={() => why(store, end)}>
          {endFacts(turn, end)}
        </button>
      </p>
    </>
  );
}

function endFacts(turn: Turn, end: Ending): string {
  const parts = [`t${turn.number}`, duration(end.at - turn.startedAt)];
  if (turn.usage !== null) parts.push(usageWords(turn.usage));
  return parts.join(" · ");
}

/** The lanes, at the event that says it. */
export function why(store: SessionStore, { sequence }: { readonly sequence: number }): void {
  selectSequence(sequence);
  if (store.kind === "recording") go({ page: "recording", view: "lanes" });
  else go({ page: "session", id: store.id, view: "lanes" });
}

function Failure({ turn, end, conversation, store }: EndProps & { readonly end: Ending }) {
  const details = isFields(end.error?.details) ? end.error.details : {};
  const stderr = stderrOf(details.stderr);
  return (
    <section class="fail" aria-label="Why the turn ended">
      <header>
        <Status shape="failed" named />
        <h2>Ended: {visibleText(end.error?.message ?? "")}</h2>
      </header>
      <div class="body">
        <FailureFacts end={end} stderr={stderr} />
        <p class="mut">
          {end.closedItems > 0 && `${plural(end.closedItems, "open item was", "open items were")} closed as failed. `}
          The session is intact: the next prompt resumes it.
        </p>
        <div class="row">
          {store.kind === "session" && (
            <button
              type="button"
              class="btn primary"
              onClick={() => {
                lookAt(store, null);
                focusComposer(turn.prompt);
              }}
            >
              Prompt again
            </button>
          )}
          <button type="button" class="btn" onClick={() => why(store, end)}>
            Why, in lanes
          </button>
          <CopyButton
            text={report({ turn, end, conversation, stderr })}
            what="bug report"
            label="Copy as a bug report"
          />
        </div>
      </div>
    </section>
  );
}

function FailureFacts({ end, stderr }: { readonly end: Ending; readonly stderr: string }) {
  const code = end.error?.code ?? null;
  return (
    <dl class="facts">
      <div>
        <dt>Reason</dt>
        <dd>
          {end.reason}
          {code !== null && (
            <>
              {" "}
              · <code>{code}</code>
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Detected</dt>
        <dd>
          {endedBy(end)}
          {end.line !== null && `, native line ${end.line}`}
          {end.rule !== null && (
            <>
              , rule <code>{end.rule}</code>
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>stderr</dt>
        <dd>{stderr === "" ? <span class="dim">empty</span> : <pre tabIndex={0}>{outputText(stderr)}</pre>}</dd>
      </div>
    </dl>
  );
}

function stderrOf(value: unknown): string {
  if (!isFields(value)) return "";
  const { head, tail, truncated } = value;
  if (typeof head !== "string" || typeof tail !== "string") return "";
  if (head === tail || !truncated) return head;
  return `${head}\n…\n${tail}`;
}

interface Report {
  readonly turn: Turn;
  readonly end: Ending;
  readonly conversation: Conversation;
  readonly stderr: string;
}

function report({ turn, end, conversation, stderr }: Report): string {
  const { agent, agentVersion, model } = conversation;
  return [
    `Turn ${turn.number} ended: ${end.reason} (${end.evidence})`,
    `Message: ${end.error?.message ?? "–"}`,
    `Code: ${end.error?.code ?? "–"}`,
    `Agent: ${agentName(agent)} ${agentVersion ?? ""}, model ${model ?? "its own default"}`,
    `Native line: ${end.line ?? "–"}, rule: ${end.rule ?? "–"}, event ${end.sequence}`,
    `stderr: ${stderr === "" ? "empty" : `\n${stderr}`}`,
  ].join("\n");
}

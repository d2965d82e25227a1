/** The sessions of the daemon as rows of a list, kept up to date by the events of all of them. */
import { batch, computed, signal } from "@preact/signals";
import type { EndReason, Permission, QuestionRequest, UniversalEvent, UsageTotal } from "../../src/protocol/events.ts";
import type { SessionSummary } from "../../src/protocol/resources.ts";
import { exactText, nameText, visibleText } from "../model/plain.ts";
import { commandOf, isFields, pathOf } from "../model/tools.ts";
import { folderName, type Shape, shapeOfEnd, shapeOfStatus } from "../model/words.ts";
import { notify, setBadge } from "./announce.ts";
import { consume, daemon } from "./link.ts";
import { go } from "./route.ts";

export interface SessionRow extends SessionSummary {
  /** What it does at the moment, in a few words; empty when that is not known. */
  readonly doing: string;
  /** What it asks of the person; empty when it asks nothing. */
  readonly asks: string;
}

const rows = signal<ReadonlyMap<string, SessionRow>>(new Map());
export const isListed = signal(false);
export const filter = signal<"all" | "needs" | "running">("all");
export const search = signal("");

export const rowOf = (id: string): SessionRow | undefined => rows.value.get(id);

export const allRows = computed(() =>
  [...rows.value.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0)),
);
export const needing = computed(() =>
  allRows.value.filter(({ status, ended }) => status === "requires_action" && !ended),
);
export const working = computed(() =>
  allRows.value.filter(({ status }) => status !== "idle" && status !== "requires_action"),
);

export function shapeOfRow({ status, ended, lastEnd }: SessionRow): Shape {
  if (status !== "idle") return shapeOfStatus(status);
  if (ended && lastEnd === undefined) return "stopped";
  return lastEnd === undefined || lastEnd === null ? "idle" : shapeOfEnd(lastEnd.reason);
}

/** The title as it is shown: control and direction characters are visible escapes. */
export const titleOf = ({ title, sessionId }: { readonly title: string | null; readonly sessionId: string }): string =>
  visibleText(title ?? `Session ${sessionId.slice(0, 8)}`);

/** The rows that the search and the filter leave. */
export const shownRows = computed(() => {
  const wanted = search.value.trim().toLowerCase();
  const source = filter.value === "needs" ? needing.value : filter.value === "running" ? working.value : allRows.value;
  if (wanted === "") return source;
  return source.filter(({ title, sessionId, agent, directory }) =>
    [title ?? "", sessionId, agent, directory].some((text) => text.toLowerCase().includes(wanted)),
  );
});

export function startList(): void {
  consume({ opened: () => void refresh(), took });
}

export async function refresh(): Promise<void> {
  const listed = await daemon().sessions();
  const before = rows.value;
  const next = new Map<string, SessionRow>();
  for (const summary of listed) {
    const known = before.get(summary.sessionId);
    // What came by the stream in the meantime is newer than the list.
    const isNewer = known !== undefined && known.lastSequence > summary.lastSequence;
    next.set(summary.sessionId, isNewer ? known : { doing: "", asks: "", ...known, ...summary });
  }
  update(next);
  isListed.value = true;
  const asking = listed.filter(
    ({ status, sessionId }) => status === "requires_action" && next.get(sessionId)?.asks === "",
  );
  await Promise.all(asking.map(({ sessionId }) => learnWhatIsAsked(sessionId)));
}

async function learnWhatIsAsked(id: string): Promise<void> {
  const { pendingPermissions, pendingQuestions } = await daemon().session(id).get({ limit: 0 });
  const [permission] = pendingPermissions;
  const [question] = pendingQuestions;
  const asks =
    permission === undefined ? (question === undefined ? "" : questionWords(question)) : permissionWords(permission);
  const row = rows.value.get(id);
  if (row !== undefined) update(new Map(rows.value).set(id, { ...row, asks }));
}

export function forget(id: string): void {
  const next = new Map(rows.value);
  next.delete(id);
  update(next);
}

let refreshing = false;

function took(events: readonly UniversalEvent[]): void {
  const next = new Map(rows.value);
  let isUnknown = false;
  const apply = (event: UniversalEvent): void => {
    const row = next.get(event.session_id);
    if (row === undefined) isUnknown = true;
    else if (event.sequence > row.lastSequence) next.set(event.session_id, changed(row, event));
  };
  // Of many deltas a row shows only when the last one came.
  const deltas = new Map<string, UniversalEvent>();
  batch(() => {
    for (const event of events) {
      if (event.type === "item.delta") deltas.set(event.session_id, event);
      else apply(event);
    }
    for (const event of deltas.values()) apply(event);
    update(next);
  });
  if (!isUnknown || refreshing) return;
  refreshing = true;
  void refresh().finally(() => {
    refreshing = false;
  });
}

function update(next: ReadonlyMap<string, SessionRow>): void {
  rows.value = next;
  setBadge(needing.value.length);
}

function changed(row: SessionRow, event: UniversalEvent): SessionRow {
  const seen = { ...row, lastSequence: event.sequence, eventCount: event.sequence, updatedAt: event.time };
  switch (event.type) {
    case "turn.started":
      return { ...seen, status: "running", doing: "", asks: "" };
    case "turn.state":
      return { ...seen, status: event.data.state, doing: stateWords(event.data) };
    case "turn.ended":
      return { ...seen, status: "idle", doing: "", asks: "", lastEnd: lastEndOf(event.data) };
    case "item.started": {
      const doing = itemWords(event.data.item.content);
      return doing === null ? seen : { ...seen, doing };
    }
    case "item.completed": {
      const [part] = event.data.item.content;
      return part?.type === "tool_call" ? { ...seen, doing: itemWords([part]) ?? seen.doing } : seen;
    }
    case "permission.requested":
      return asked(seen, permissionWords(event.data));
    case "question.requested":
      return asked(seen, questionWords(event.data));
    case "permission.resolved":
    case "question.resolved":
      return { ...seen, asks: "" };
    case "usage.updated":
      return { ...seen, usage: event.data.session };
    case "session.updated":
      return { ...seen, ...changesOf(event.data) };
    case "session.ended":
      return { ...seen, ended: true };
    default:
      return seen;
  }
}

function asked(row: SessionRow, asks: string): SessionRow {
  const open = (): void => go({ page: "session", id: row.sessionId, view: "conversation" });
  notify({ title: `${titleOf(row)} needs you`, body: asks, open });
  return { ...row, asks };
}

type Change = Extract<UniversalEvent, { type: "session.updated" }>["data"];

function changesOf({ agent, title, model, variant, mode, permission_mode, directory }: Change): Partial<SessionRow> {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(title === undefined ? {} : { title }),
    ...(model === undefined ? {} : { model }),
    ...(variant === undefined ? {} : { variant }),
    ...(mode === undefined ? {} : { agentMode: mode }),
    ...(permission_mode === undefined ? {} : { permissionMode: permission_mode }),
    ...(directory === undefined ? {} : { directory }),
  };
}

interface End {
  readonly reason: EndReason;
  readonly error?: { readonly message: string } | undefined;
}

const lastEndOf = ({ reason, error }: End): NonNullable<SessionSummary["lastEnd"]> => ({
  reason,
  ...(error === undefined ? {} : { message: error.message }),
});

type State = Extract<UniversalEvent, { type: "turn.state" }>["data"];

function stateWords({ state, attempt, message }: State): string {
  if (state === "retrying") return `Retry ${attempt ?? ""}: ${message ?? ""}`;
  return state === "compacting" ? "Compacting its context" : "";
}

function itemWords(
  content: Extract<UniversalEvent, { type: "item.started" }>["data"]["item"]["content"],
): string | null {
  const [part] = content;
  if (part?.type === "tool_call") return part.title === "" ? part.name : part.title;
  if (part?.type === "reasoning") return "Thinking";
  return part?.type === "text" ? "Writing" : null;
}

function permissionWords({ action, metadata }: Permission): string {
  const input = isFields(metadata.input) ? metadata.input : {};
  const command = commandOf(input);
  if (command !== null) return `Run: ${exactText(command)}`;
  const path = pathOf(input);
  const tool = exactText(metadata.tool ?? action);
  return path === null ? `Allow ${tool}` : `${tool}: ${nameText(folderName(path))}`;
}

const questionWords = ({ questions, prompt }: QuestionRequest): string =>
  `Asks: ${exactText(questions[0]?.question ?? prompt)}`;

export const costOf = ({ usage }: { readonly usage?: UsageTotal | undefined }): number | null =>
  usage?.cost_usd ?? null;

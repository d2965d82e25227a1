/** The lines of a rollout as notifications of the app-server, turn by turn. */
import type { Recorded } from "../../core/recorded.ts";
import type { FileTurn } from "../../core/session-files.ts";
import { type CodexFileLine, countsOf, itemOf, skippedKinds } from "../../dialects/codex-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { type Call, callIn, callItem, isCallLine, outputIn, PLAN_TOOL, planOf } from "./session-calls.ts";

export interface ThreadLines {
  readonly thread: string;
  /** Another thread's: it belongs to no turn of its own. */
  readonly isChild: boolean;
  readonly lines: readonly CodexFileLine[];
}

export interface ThreadTurns {
  readonly turns: readonly FileTurn[];
  readonly abandoned: number;
  readonly unread: readonly string[];
}

interface Reading {
  readonly thread: string;
  readonly turns: { key: string; entries: Recorded[]; ended: boolean }[];
  readonly unread: string[];
  /** Call ids that have an item of their own. */
  readonly itemised: ReadonlySet<string>;
  readonly itemisesCompaction: boolean;
  readonly calls: Map<string, Call>;
  turn: string | null;
  /** Turns that have no start of their own get a number. */
  made: number;
  model: string | null;
  cwd: string;
  abandoned: number;
}

export function turnsOf({ thread, isChild, lines }: ThreadLines): ThreadTurns {
  const state: Reading = {
    thread,
    turns: [],
    unread: [],
    itemised: itemisedIn(lines),
    itemisesCompaction: lines.some(({ payload }) => shapeOf(payload.item).type === "ContextCompaction"),
    calls: new Map(),
    turn: null,
    made: 0,
    model: null,
    cwd: "",
    abandoned: 0,
  };
  const hasStarts = lines.some(({ kind }) => kind === "event_msg/task_started");
  for (const line of lines) onLine(state, line, { isChild, hasStarts });
  cutOpen(state, lines.at(-1)?.at ?? null);
  return { turns: state.turns, abandoned: state.abandoned, unread: state.unread };
}

function itemisedIn(lines: readonly CodexFileLine[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { kind, payload } of lines) {
    const { id } = shapeOf(payload.item);
    if (kind === "event_msg/item_completed" && isString(id)) ids.add(id);
  }
  return ids;
}

interface Manner {
  readonly isChild: boolean;
  /** The version says where a turn begins; 0.50 does not. */
  readonly hasStarts: boolean;
}

function onLine(state: Reading, line: CodexFileLine, manner: Manner): void {
  const { kind, payload, at } = line;
  if (isCallLine(line)) return onCall(state, line);
  switch (kind) {
    case "session_meta":
      return onMeta(state, line);
    case "event_msg/task_started":
      return begin(state, { id: payload.turn_id, at, manner });
    case "event_msg/item_completed":
      return onItem(state, { item: itemOf(shapeOf(payload.item)), at });
    case "event_msg/user_message":
      if (!manner.hasStarts) begin(state, { id: null, at, manner });
      return onItem(state, { item: { type: "userMessage", content: userContent(payload) }, at });
    case "event_msg/agent_message":
      return onItem(state, { item: { type: "agentMessage", text: payload.message }, at });
    case "event_msg/agent_reasoning":
      return onItem(state, { item: { type: "reasoning", summary: [payload.text], content: [] }, at });
    case "event_msg/token_count":
      return onTokens(state, line);
    case "turn_context":
      return onContext(state, line);
    case "compacted":
      // Newer versions write an item for it as well.
      return state.itemisesCompaction ? undefined : onItem(state, { item: { type: "contextCompaction" }, at });
    case "event_msg/task_complete":
      return end(state, { ...endOf(payload), at });
    case "event_msg/turn_aborted":
      return end(state, { status: "interrupted", error: null, at });
    case "event_msg/error":
      return onError(state, line);
    case "event_msg/thread_rolled_back":
      return rollBack(state, payload.num_turns);
    default:
      if (!skippedKinds.has(kind)) state.unread.push(`A line has a type we do not know: ${kind}.`);
  }
}

const notify = (state: Reading, method: string, params: Shape, at: number | null): void => {
  const line = { method, params: { threadId: state.thread, ...params } };
  entriesOf(state).push({ type: "line", from: "agent", line, at });
};

/** Lines outside a turn belong to the one before. */
function entriesOf(state: Reading): Recorded[] {
  const last = state.turns.at(-1);
  if (last !== undefined) return last.entries;
  const opening = { key: OPENING, entries: [], ended: true };
  state.turns.push(opening);
  return opening.entries;
}

/** What is known before the first turn: the thread itself. */
const OPENING = "thread";

function onMeta(state: Reading, { payload, at }: CodexFileLine): void {
  const { id, cwd, cli_version, parent_thread_id, agent_nickname } = payload;
  // An older fork repeats the meta line of the thread it came from.
  if (id !== state.thread) return;
  if (isString(cwd)) state.cwd = cwd;
  const thread = {
    id,
    ...(isString(cwd) ? { cwd } : {}),
    ...(isString(cli_version) ? { cliVersion: cli_version } : {}),
    ...(isString(parent_thread_id) ? { parentThreadId: parent_thread_id } : {}),
    ...(isString(agent_nickname) ? { agentNickname: agent_nickname } : {}),
  };
  notify(state, "thread/started", { thread }, at);
}

interface Beginning {
  readonly id: unknown;
  readonly at: number | null;
  readonly manner: Manner;
}

function begin(state: Reading, { id, at, manner }: Beginning): void {
  cutOpen(state, at);
  state.made += 1;
  const turn = isString(id) ? id : `${state.thread}/${state.made}`;
  state.turn = turn;
  const opening = state.turns.at(-1);
  if (opening?.key === OPENING) opening.key = turn;
  else state.turns.push({ key: turn, entries: [], ended: false });
  const last = state.turns.at(-1);
  if (last !== undefined) last.ended = false;
  if (!manner.isChild) {
    const line = { id: `file-${state.made}`, method: "turn/start", params: { threadId: state.thread } };
    entriesOf(state).push({ type: "line", from: "host", line, at });
  }
  notify(state, "turn/started", { turn: { id: turn, items: [], status: "inProgress" } }, at);
}

/** A turn without an end was cut; 0.50 writes no ends, so there a last word is one. */
function cutOpen(state: Reading, at: number | null): void {
  if (state.turn === null) return;
  if (!state.turn.startsWith(`${state.thread}/`)) return void leaveOpen(state, at);
  const spoke = state.turns.at(-1)?.entries.findLast(({ type }) => type === "line");
  const said = spoke?.type === "line" ? shapeOf(shapeOf(shapeOf(spoke.line).params).item).type : undefined;
  if (said === "agentMessage" || isUsage(spoke)) end(state, { status: "completed", error: null, at: spoke?.at ?? at });
  else leaveOpen(state, at);
}

const isUsage = (entry: Recorded | undefined): boolean =>
  entry?.type === "line" && shapeOf(entry.line).method === "thread/tokenUsage/updated";

function leaveOpen(state: Reading, at: number | null): void {
  const entries = entriesOf(state);
  const last = entries.at(-1)?.at ?? at;
  entries.push({ type: "exit", exit: { code: null, signal: null }, at: last });
  state.turn = null;
}

interface Ending {
  readonly status: string;
  readonly error: Shape | null;
  readonly at: number | null;
}

function endOf({ error }: Shape): Pick<Ending, "status" | "error"> {
  if (error === undefined || error === null) return { status: "completed", error: null };
  const { message } = shapeOf(error);
  return {
    status: "failed",
    error: { message: isString(message) ? message : isString(error) ? error : "The turn failed." },
  };
}

function end(state: Reading, { status, error, at }: Ending): void {
  const { turn } = state;
  if (turn === null) return;
  notify(state, "turn/completed", { turn: { id: turn, items: [], status, error } }, at);
  const last = state.turns.at(-1);
  if (last !== undefined) last.ended = true;
  state.turn = null;
}

function onItem(state: Reading, { item, at }: { item: Shape; at: number | null }): void {
  const entries = entriesOf(state);
  const turnId = state.turn ?? state.turns.at(-1)?.key ?? state.thread;
  const whole = { ...item, id: isString(item.id) ? item.id : `${item.type}-${entries.length}` };
  const begun = item.type === "userMessage" || item.type === "reasoning" ? whole : { ...whole, ...unfinished(item) };
  notify(state, "item/started", { turnId, item: begun }, at);
  notify(state, "item/completed", { turnId, item: whole }, at);
}

const unfinished = ({ type, status }: Shape): Shape =>
  type === "agentMessage" ? { text: "" } : status === undefined ? {} : { status: "inProgress" };

function userContent({ message, images }: Shape): readonly Shape[] {
  const pictures = Array.isArray(images) ? images.filter(isString).map((url) => ({ type: "image", url })) : [];
  return [...(isString(message) ? [{ type: "text", text: message }] : []), ...pictures];
}

function onCall(state: Reading, line: CodexFileLine): void {
  const call = callIn(line);
  const { at } = line;
  const turnId = state.turn ?? state.turns.at(-1)?.key ?? state.thread;
  if (call !== null) {
    if (state.itemised.has(call.id)) return;
    if (call.name === PLAN_TOOL) return notify(state, "turn/plan/updated", { turnId, plan: planOf(call) }, at);
    state.calls.set(call.id, call);
    return notify(state, "item/started", { turnId, item: callItem(call, { output: null, cwd: state.cwd }) }, at);
  }
  const returned = outputIn(line);
  const known = returned === null ? undefined : state.calls.get(returned.id);
  if (returned === null || known === undefined) return;
  state.calls.delete(returned.id);
  notify(state, "item/completed", { turnId, item: callItem(known, { output: returned.output, cwd: state.cwd }) }, at);
}

function onTokens(state: Reading, { payload, at }: CodexFileLine): void {
  const info = shapeOf(payload.info);
  if (state.turn === null || !("total_token_usage" in info)) return;
  const tokenUsage = { total: countsOf(info.total_token_usage), last: countsOf(info.last_token_usage) };
  notify(state, "thread/tokenUsage/updated", { turnId: state.turn, tokenUsage }, at);
}

/** Only the model: in which mode the conversation was allowed to do what is nothing to continue with. */
function onContext(state: Reading, { payload, at }: CodexFileLine): void {
  const { model, cwd } = payload;
  if (isString(cwd)) state.cwd = cwd;
  if (!isString(model) || model === state.model) return;
  state.model = model;
  notify(state, "thread/settings/updated", { threadSettings: { model } }, at);
}

function onError(state: Reading, { payload, at }: CodexFileLine): void {
  const { message } = payload;
  if (state.turn === null || !isString(message)) return;
  notify(state, "error", { turnId: state.turn, error: { message }, willRetry: false }, at);
}

function rollBack(state: Reading, count: unknown): void {
  if (!isNumber(count) || count < 1) return;
  const dropped = Math.min(count, state.turns.length);
  const [opening] = state.turns;
  const meta = opening?.entries.filter(isOpening) ?? [];
  state.turns.splice(state.turns.length - dropped, dropped);
  state.abandoned += dropped;
  if (state.turns.length === 0) state.turns.push({ key: OPENING, entries: meta, ended: true });
}

const isOpening = (entry: Recorded): boolean =>
  entry.type === "line" && shapeOf(entry.line).method === "thread/started";

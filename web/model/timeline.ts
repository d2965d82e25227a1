/** A turn as a strip: model steps, tools, waits, retries, with when each began and ended. */
import type { EventOf, Tokens, UniversalEvent } from "../../src/protocol/events.ts";
import type { ToolCallPart } from "../../src/protocol/items.ts";
import { parsedInput, targetOf } from "./tools.ts";
import type { Shape } from "./words.ts";

export type BarKind =
  | "turn"
  | "first"
  | "writes"
  | "tool"
  | "failed"
  | "subagent"
  | "waits"
  | "retry"
  | "compaction"
  | "mark";

export interface Bar {
  readonly kind: BarKind;
  readonly from: number;
  /** Null while it is open. */
  to: number | null;
}

export interface TimelineRow {
  readonly key: string;
  readonly level: number;
  shape: Shape;
  readonly name: string;
  target: string;
  readonly bars: Bar[];
  tokens: Tokens | null;
  cost: number | null;
  note: string;
  readonly sequence: number;
}

interface State {
  readonly rows: TimelineRow[];
  readonly tools: Map<string, TimelineRow>;
  readonly waits: Map<string, Bar>;
  step: TimelineRow | null;
  steps: number;
  /** When the model could begin its next step. */
  free: number;
  /** The model's last word. */
  last: number;
  /** A tool has returned since the step began: the next word is another step. */
  returned: boolean;
  held: TimelineRow | null;
  directory: string | null;
}

export interface Timed {
  readonly events: readonly UniversalEvent[];
  readonly directory: string | null;
}

/** Rows of one turn, from the events of that turn. */
export function timelineOf({ events, directory }: Timed): readonly TimelineRow[] {
  const started = Date.parse(events[0]?.time ?? "");
  const state: State = {
    rows: [],
    tools: new Map(),
    waits: new Map(),
    step: null,
    steps: 0,
    free: started,
    last: started,
    returned: false,
    held: null,
    directory,
  };
  for (const event of events) apply(state, event);
  return state.rows;
}

function apply(state: State, event: UniversalEvent): void {
  const at = Date.parse(event.time);
  switch (event.type) {
    case "item.started":
    case "item.completed":
      return applyItem(state, event, at);
    case "item.delta":
      if (event.data.part !== "tool_output") state.last = at;
      return;
    case "usage.updated":
      if (event.data.step !== null)
        closeStep(state, { tokens: event.data.step.tokens, cost: event.data.step.cost_usd, at });
      return;
    case "permission.requested":
      return wait(state, { id: event.data.permission_id, call: event.data.metadata.call_id, at, event });
    case "question.requested":
      return wait(state, { id: event.data.question_id, call: event.data.metadata.call_id, at, event });
    case "permission.resolved":
      return answered(state, event.data.permission_id, at);
    case "question.resolved":
      return answered(state, event.data.question_id, at);
    case "turn.state":
      return hold(state, event, at);
    case "turn.continued":
      state.rows.push(
        rowOf(event, {
          name: "Continued",
          target: event.data.reason,
          shape: "running",
          bar: { kind: "mark", from: at, to: at },
        }),
      );
      state.free = at;
      return;
    case "turn.ended":
      for (const row of state.rows) for (const bar of row.bars) bar.to ??= at;
      closeStep(state, { tokens: null, cost: null, at });
      return;
    default:
      return;
  }
}

interface RowStart {
  readonly name: string;
  readonly target: string;
  readonly shape: Shape;
  readonly bar: Bar;
  readonly level?: number;
}

const rowOf = ({ sequence }: UniversalEvent, { name, target, shape, bar, level = 1 }: RowStart): TimelineRow => ({
  key: `row ${sequence}`,
  level,
  shape,
  name,
  target,
  bars: [bar],
  tokens: null,
  cost: null,
  note: "",
  sequence,
});

type ItemEvent = EventOf<"item.started"> | EventOf<"item.completed">;

function applyItem(state: State, event: ItemEvent, at: number): void {
  const { item } = event.data;
  const isOwn = item.subagent === undefined;
  switch (item.kind) {
    case "message":
      if (item.role !== "assistant" || !isOwn) return;
      if (event.type === "item.started") openStep(state, event, at);
      state.last = at;
      return;
    case "tool_call": {
      if (isOwn) openStep(state, event, at);
      if (isOwn) state.last = at;
      const part = item.content.find((one): one is ToolCallPart => one.type === "tool_call");
      if (part !== undefined) call(state, { event, part, at, level: isOwn ? 2 : 3 });
      return;
    }
    case "tool_result": {
      const part = item.content.find((one) => one.type === "tool_result");
      if (part?.type !== "tool_result") return;
      result(state, { event, callId: part.call_id, at, isError: part.is_error, exit: part.exit_code ?? null });
      if (isOwn && event.type === "item.completed") {
        state.returned = true;
        state.free = at;
      }
      return;
    }
    default:
      return;
  }
}

function openStep(state: State, event: UniversalEvent, at: number): void {
  if (state.step !== null && !state.returned) return;
  closeStep(state, { tokens: null, cost: null, at: state.last });
  state.steps += 1;
  const bar: Bar = { kind: "first", from: Math.min(state.free, at), to: at };
  const row = rowOf(event, { name: `Model step ${state.steps}`, target: "", shape: "running", bar });
  row.bars.push({ kind: "writes", from: at, to: null });
  state.rows.push(row);
  state.step = row;
  state.returned = false;
}

function closeStep(
  state: State,
  { tokens, cost, at }: { tokens: Tokens | null; cost: number | null; at: number },
): void {
  const { step } = state;
  if (step === null) return;
  for (const bar of step.bars) bar.to ??= Math.max(bar.from, Math.min(at, state.last));
  step.shape = "completed";
  step.tokens ??= tokens;
  step.cost ??= cost;
  // Usage comes at a step's end; what follows it is the next one.
  state.step = null;
  state.free = Math.max(state.free, at);
}

interface Call {
  readonly event: UniversalEvent;
  readonly part: ToolCallPart;
  readonly at: number;
  readonly level: number;
}

function call(state: State, { event, part, at, level }: Call): void {
  const { name, tool_kind: kind, title } = part;
  const target = targetOf({ kind, title, name, input: parsedInput(part.arguments), directory: state.directory });
  const known = state.tools.get(part.call_id);
  if (known !== undefined) {
    // Its arguments are complete now.
    if (target !== "") known.target = target;
    return;
  }
  const bar: Bar = { kind: kind === "subagent" ? "subagent" : "tool", from: at, to: null };
  const row = rowOf(event, { name, target: target === "" ? title : target, shape: "running", bar, level });
  state.rows.push(row);
  state.tools.set(part.call_id, row);
}

interface Result {
  readonly event: ItemEvent;
  readonly callId: string;
  readonly at: number;
  readonly isError: boolean;
  readonly exit: number | null;
}

function result(state: State, { event, callId, at, isError, exit }: Result): void {
  const row = state.tools.get(callId);
  const last = row?.bars.at(-1);
  if (row === undefined || last === undefined) return;
  if (event.type === "item.started") {
    // While its arguments were written the model worked, not the tool.
    if (last.kind !== "waits") row.bars[row.bars.length - 1] = { ...last, from: at };
    return;
  }
  last.to ??= at;
  const isFailed = isError || event.data.item.status === "failed";
  row.shape = isFailed ? "failed" : "completed";
  if (isFailed)
    row.bars[row.bars.length - 1] = { kind: last.kind === "waits" ? "waits" : "failed", from: last.from, to: last.to };
  if (isFailed && exit !== null) row.note = `exit ${exit}`;
}

interface Wait {
  readonly id: string;
  readonly call: string | null;
  readonly at: number;
  readonly event: UniversalEvent;
}

/** In the row of its call; a question stands for itself. */
function wait(state: State, { id, call: callId, at, event }: Wait): void {
  const bar: Bar = { kind: "waits", from: at, to: null };
  state.waits.set(id, bar);
  const row = callId === null ? undefined : state.tools.get(callId);
  if (row === undefined) {
    state.rows.push(rowOf(event, { name: "Question", target: "", shape: "needs", bar, level: 2 }));
    return;
  }
  const last = row.bars.at(-1);
  if (last !== undefined && last.to === null) row.bars.pop();
  row.bars.push(bar);
  row.shape = "needs";
}

function answered(state: State, id: string, at: number): void {
  const bar = state.waits.get(id);
  if (bar === undefined || bar.to !== null) return;
  bar.to = at;
  const row = state.rows.find(({ bars }) => bars.includes(bar));
  if (row === undefined) return;
  if (row.name === "Question") row.shape = "completed";
  else {
    row.shape = "running";
    row.bars.push({ kind: "tool", from: at, to: null });
  }
}

function hold(state: State, event: EventOf<"turn.state">, at: number): void {
  const open = state.held?.bars[0];
  if (open !== undefined) open.to ??= at;
  if (state.held !== null) state.free = at;
  state.held = null;
  const { state: kind, attempt, message } = event.data;
  if (kind !== "retrying" && kind !== "compacting") return;
  const isRetry = kind === "retrying";
  const row = rowOf(event, {
    name: isRetry ? `Retry ${attempt ?? ""}` : "Compaction",
    target: message ?? "",
    shape: kind,
    bar: { kind: isRetry ? "retry" : "compaction", from: at, to: null },
  });
  state.rows.push(row);
  state.held = row;
}

export const barKinds = ["first", "writes", "tool", "waits", "retry", "subagent", "compaction"] as const;
export type Summed = (typeof barKinds)[number];

/** How long each kind took, overlaps counted twice. */
export function timeByKind(rows: readonly TimelineRow[], now: number): ReadonlyMap<Summed, number> {
  const sums = new Map<Summed, number>();
  for (const { bars } of rows) {
    for (const { kind, from, to } of bars) {
      const summed = kind === "failed" ? "tool" : barKinds.find((one) => one === kind);
      if (summed !== undefined) sums.set(summed, (sums.get(summed) ?? 0) + (to ?? now) - from);
    }
  }
  return sums;
}

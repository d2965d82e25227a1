/**
 * The continuation governor: at settlement, before idle is announced, may the turn go on by itself?
 * Pure and bounded: it can only ever be asked a finite number of times per prompt.
 */
import type { Todo } from "../protocol/events.ts";
import type { ContentPart } from "../protocol/items.ts";
import type { FinishTodos } from "../protocol/resources.ts";
import { hashHex } from "./hash.ts";
import type { Proposal } from "./input.ts";

export interface GovernorState {
  /** Switched off for good by an abort or by the stop switch. */
  stopped: boolean;
  /** Continuations since the last prompt of a person. */
  continuations: number;
  /** The most todos that were ever closed at once, since the last prompt of a person. */
  mostClosed: number;
  /** Continuations in a row that closed no more todos than ever before. */
  withoutProgress: number;
  /** Tool calls whose result is awaited: call id → what was called, as a hash. */
  readonly calls: Map<string, string>;
  /** Times the same tool call had the same result, since the last prompt of a person. */
  readonly repeats: Map<string, number>;
  startedAt: number;
}

export const startGovernor = (): GovernorState => ({
  stopped: false,
  continuations: 0,
  mostClosed: 0,
  withoutProgress: 0,
  calls: new Map(),
  repeats: new Map(),
  startedAt: 0,
});

export const DEFAULT_CONTINUATIONS = 3;
export const CONTINUATIONS_CAP = 20;
/** The same call with the same result this often means the agent goes in circles. */
export const REPEATS_LIMIT = 3;
const REMEMBERED = 500;

/** A person prompted: the bounds start anew, the stop switch stays as it is. */
export function resetGovernor(state: GovernorState, { at, todos }: { at: number; todos: readonly Todo[] }): void {
  state.continuations = 0;
  state.withoutProgress = 0;
  state.mostClosed = closedCount(todos);
  state.calls.clear();
  state.repeats.clear();
  state.startedAt = at;
}

/** Watches a tool item that was closed, for agents that go in circles. */
export function noteTool(state: GovernorState, content: readonly ContentPart[]): void {
  for (const part of content) {
    if (part.type === "tool_call") remember(state.calls, part.call_id, hashHex(`${part.name}\n${part.arguments}`));
    if (part.type === "tool_result") {
      const signature = `${state.calls.get(part.call_id) ?? ""}/${hashHex(part.output)}`;
      state.calls.delete(part.call_id);
      remember(state.repeats, signature, (state.repeats.get(signature) ?? 0) + 1);
    }
  }
}

/** Keeps a map bounded: the oldest entry goes first. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= REMEMBERED) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}

/** The turn so far, as the decision sees it; logged with the decision. */
export interface Settlement {
  readonly natural: boolean;
  readonly todos: readonly Todo[];
  readonly proposals: readonly Proposal[];
  /** What else is waiting: any of these settles the turn. */
  readonly waiting: { readonly requests: number; readonly queued: number; readonly background: number };
  readonly elapsedMs: number;
  readonly spentUsd: number | null;
}

export interface Decision {
  readonly decision: "continue" | "settle";
  readonly reason: string;
  readonly attempt: number;
  readonly limit: number;
  /** The prompt that the agent gets, if it continues. */
  readonly prompt: string;
  /** Whether the decision is worth an event: there was something left to do. */
  readonly notable: boolean;
}

export function isGoverned(policy: FinishTodos): boolean {
  return policy !== false;
}

/** Decides and, when it goes on, counts the attempt. */
export function decide(state: GovernorState, policy: FinishTodos, settlement: Settlement): Decision {
  const options = typeof policy === "object" ? policy : {};
  const limit = Math.min(options.maxContinuations ?? DEFAULT_CONTINUATIONS, CONTINUATIONS_CAP);
  const open = openTodos(settlement.todos);
  const reasons = wishes(open, settlement.proposals, { todos: policy !== false });
  const closed = closedCount(settlement.todos);
  const progressed = closed > state.mostClosed;
  if (state.continuations > 0) state.withoutProgress = progressed ? 0 : state.withoutProgress + 1;
  state.mostClosed = Math.max(state.mostClosed, closed);

  const settle = (reason: string): Decision => ({
    decision: "settle",
    reason,
    attempt: state.continuations,
    limit,
    prompt: "",
    notable: open.length > 0 || settlement.proposals.length > 0,
  });
  if (reasons.length === 0) {
    return settle(open.length === 0 ? "nothing is left to do" : `${openCount(open)}, and nobody asked to continue`);
  }
  const obstacle = obstacleTo(state, settlement, { ...options, limit });
  if (obstacle !== null) return settle(obstacle);

  state.continuations += 1;
  return {
    decision: "continue",
    reason: reasons.join("; "),
    attempt: state.continuations,
    limit,
    prompt: promptFor(open, settlement.proposals),
    notable: true,
  };
}

interface Bounds {
  readonly limit: number;
  readonly maxWithoutProgress?: number | undefined;
  readonly budgetUsd?: number | undefined;
  readonly budgetMs?: number | undefined;
}

function obstacleTo(state: GovernorState, settlement: Settlement, bounds: Bounds): string | null {
  const { waiting } = settlement;
  if (state.stopped) return "continuing is switched off for this session";
  if (!settlement.natural) return "the turn did not end by itself";
  if (waiting.requests > 0) return "a request waits for a person";
  if (waiting.queued > 0) return "a prompt waits in the queue";
  if (waiting.background > 0) return "background work is still running";
  if (state.continuations >= bounds.limit) return `the limit of ${bounds.limit} continuations is reached`;
  if (state.withoutProgress > (bounds.maxWithoutProgress ?? 0)) return withoutProgress(state);
  if ([...state.repeats.values()].some((count) => count >= REPEATS_LIMIT)) {
    return "the same tool call had the same result three times";
  }
  if (bounds.budgetMs !== undefined && settlement.elapsedMs >= bounds.budgetMs) return "the time budget is used up";
  if (bounds.budgetUsd !== undefined && (settlement.spentUsd ?? 0) >= bounds.budgetUsd) {
    return "the cost budget is used up";
  }
  return null;
}

const withoutProgress = ({ withoutProgress: count }: GovernorState): string =>
  `${count === 1 ? "the last continuation" : `the last ${count} continuations`} closed no more todos than before`;

const openCount = ({ length }: readonly Todo[]): string => `${length} ${length === 1 ? "todo is" : "todos are"} open`;

function wishes(open: readonly Todo[], proposals: readonly Proposal[], use: { readonly todos: boolean }): string[] {
  const todos = use.todos && open.length > 0 ? [openCount(open)] : [];
  return [...todos, ...proposals.map((proposal) => `${proposal.plugin}: ${proposal.reason}`)];
}

/** Neutral: it says what is left and asks to go on or to say why not. It never asks the agent to skip permissions. */
function promptFor(open: readonly Todo[], proposals: readonly Proposal[]): string {
  const lines = open.map((todo) => `- [${todo.status}] ${todo.content}`);
  const list =
    lines.length === 0
      ? []
      : [
          `Your todo list still has ${lines.length} open ${lines.length === 1 ? "entry" : "entries"}:`,
          ...lines,
          "Please go on with it. If an entry is done, mark it as completed; if it is no longer needed or you cannot do it, say so and update the list.",
        ];
  return [...list, ...proposals.map((proposal) => proposal.prompt)].join("\n");
}

const openTodos = (todos: readonly Todo[]): readonly Todo[] =>
  todos.filter((todo) => todo.status === "pending" || todo.status === "in_progress");

const closedCount = (todos: readonly Todo[]): number =>
  todos.filter((todo) => todo.status === "completed" || todo.status === "cancelled").length;

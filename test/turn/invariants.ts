/** The promises of docs/turn.md, checked on what the machine says, without looking into it. */
import type { MachineOutput } from "../../src/core/machine-state.ts";
import type { Draft, EventOf } from "../../src/protocol/events.ts";
import type { Item } from "../../src/protocol/items.ts";

export interface Observer {
  openTurn: string | null;
  starts: number;
  ends: number;
  readonly openItems: Map<string, Item>;
  readonly closedItems: Set<string>;
  readonly openRequests: Map<string, string | null>;
  /** The state last told of the open turn. */
  shown: string;
  /** Fatal errors of the open turn. */
  fatal: number;
  sessionStarts: number;
  ended: boolean;
}

export const startObserver = (): Observer => ({
  openTurn: null,
  starts: 0,
  ends: 0,
  openItems: new Map(),
  closedItems: new Set(),
  openRequests: new Map(),
  shown: "running",
  fatal: 0,
  sessionStarts: 0,
  ended: false,
});

/** Throws a sentence that names the broken promise. */
export function observe(observer: Observer, outputs: readonly MachineOutput[]): void {
  /**
   * Calls that were closed as failed by a turn's end, and requests dropped by it, since the last event of another kind.
   */
  let brokenCalls: { callId: string | null; background: boolean }[] = [];
  const dropped = new Set<string | null>();
  for (const output of outputs) {
    if (output.type !== "event") continue;
    const { draft, turn_id, rule } = output;
    check(!observer.ended, "nothing follows session.ended");
    if (draft.type !== "session.started") check(observer.sessionStarts === 1, "session.started is first, once");
    if (draft.type !== "turn.started") {
      check(turn_id === observer.openTurn, "an event is in the open turn, or in none");
    }
    if (draft.type === "item.completed" && rule === "turn.ended" && isToolItem(draft.data.item)) {
      brokenCalls.push({ callId: callOf(draft.data.item), background: false });
    }
    if (draft.type === "permission.resolved" || draft.type === "question.resolved") {
      dropped.add(draft.data.metadata.call_id);
    }
    if (draft.type === "turn.ended") {
      const excused = draft.data.reason !== "completed" || draft.data.evidence !== "signal" || isPatient(rule);
      const left = brokenCalls.filter((call) => !dropped.has(call.callId));
      check(excused || left.length === 0, "a natural end waits for open calls");
      brokenCalls = [];
    }
    observeDraft(observer, draft);
  }
  const waits = observer.openRequests.size > 0;
  check(
    observer.openTurn === null || waits === (observer.shown === "requires_action"),
    "requires_action means a request",
  );
}

/** The two rules by which a natural end may break off calls: the grace passed, or the agent began anew. */
const isPatient = (rule: string | null): boolean => rule === "turn.grace" || rule === "turn.next_began";

function observeDraft(observer: Observer, draft: Draft): void {
  switch (draft.type) {
    case "session.started":
      observer.sessionStarts += 1;
      return check(observer.sessionStarts === 1, "one session.started");
    case "session.ended":
      observer.ended = true;
      return;
    case "error":
      if (!draft.data.fatal) return;
      check(observer.openTurn !== null, "a fatal error is in a turn");
      observer.fatal += 1;
      return check(observer.fatal === 1, "a turn has one fatal error");
    case "turn.started":
      observer.fatal = 0;
      check(observer.openTurn === null, "at most one open turn");
      observer.openTurn = draft.data.turn_id;
      observer.starts += 1;
      observer.shown = "running";
      return;
    case "turn.state":
      observer.shown = draft.data.state;
      return check(observer.openTurn === draft.data.turn_id, "a state is of the open turn");
    case "turn.ended":
      return observeEnd(observer, draft.data);
    case "item.started":
      check(!observer.openItems.has(draft.data.item.item_id), "an item begins once");
      check(!observer.closedItems.has(draft.data.item.item_id), "an item id is used once");
      observer.openItems.set(draft.data.item.item_id, draft.data.item);
      return;
    case "item.delta":
      return check(observer.openItems.has(draft.data.item_id), "a delta is of an open item");
    case "item.completed":
      check(observer.openItems.delete(draft.data.item.item_id), "an item completes once, after it began");
      observer.closedItems.add(draft.data.item.item_id);
      return;
    case "permission.requested":
      observer.openRequests.set(draft.data.permission_id, draft.data.metadata.call_id);
      return check(observer.openTurn !== null, "a request is in a turn");
    case "question.requested":
      observer.openRequests.set(draft.data.question_id, draft.data.metadata.call_id);
      return check(observer.openTurn !== null, "a request is in a turn");
    case "permission.resolved":
      return check(observer.openRequests.delete(draft.data.permission_id), "a request is resolved once");
    case "question.resolved":
      return check(observer.openRequests.delete(draft.data.question_id), "a request is resolved once");
    default:
      return;
  }
}

function observeEnd(observer: Observer, end: EventOf<"turn.ended">["data"]): void {
  check(observer.openTurn === end.turn_id, "an end is of the open turn");
  observer.openTurn = null;
  observer.ends += 1;
  check(observer.openRequests.size === 0, "no request stays open after its turn");
  const left = [...observer.openItems.values()];
  check(left.length === 0 || end.background.length > 0, "only background work outlives its turn");
  check(observer.starts === observer.ends, "exactly one end per start");
  check(end.reason !== "error" || observer.fatal === 1, "an end by error has one fatal error before it");
}

function check(condition: boolean, promise: string): void {
  if (!condition) throw new Error(`Broken promise: ${promise}`);
}

const isToolItem = (item: Item): boolean => item.kind === "tool_call" || item.kind === "tool_result";

function callOf(item: Item): string | null {
  for (const part of item.content) {
    if (part.type === "tool_call" || part.type === "tool_result") return part.call_id;
  }
  return null;
}

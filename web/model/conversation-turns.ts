/** Turns of a conversation: where they begin, what state they pass, and how they end. */
import type { EventOf } from "../../src/protocol/events.ts";
import type { Conversation } from "./conversation-state.ts";
import type { StateEntry, Turn } from "./entries.ts";

type TurnEvent = EventOf<"turn.started"> | EventOf<"turn.state"> | EventOf<"turn.continued"> | EventOf<"turn.ended">;

export function applyTurn(conversation: Conversation, event: TurnEvent): void {
  switch (event.type) {
    case "turn.started":
      return begin(conversation, event);
    case "turn.state":
      return change(conversation, event);
    case "turn.continued":
      return goOn(conversation, event);
    case "turn.ended":
      return end(conversation, event);
  }
}

function begin(conversation: Conversation, { data, time, sequence }: EventOf<"turn.started">): void {
  const turn: Turn = {
    id: data.turn_id,
    number: turnNumber(data.turn_id) ?? conversation.turns.length + 1,
    origin: data.origin,
    startedAt: Date.parse(time),
    sequence,
    prompt: "",
    steps: 0,
    usage: null,
    retries: 0,
    compactions: 0,
    continuations: 0,
    end: null,
    background: [],
  };
  conversation.turns.push(turn);
  conversation.turn = turn;
  conversation.status = "running";
  if (data.origin === "user" || data.origin === "queue") return;
  const label = data.origin === "background" ? "Background work continued by itself" : "The agent began by itself";
  const at = Date.parse(time);
  conversation.entries.push({ type: "note", key: `note ${sequence}`, rev: 0, tone: "plain", label, detail: "", at });
}

/** `<session>:t3` is the third turn. */
function turnNumber(id: string): number | null {
  const found = /:t(\d+)$/.exec(id);
  return found === null ? null : Number(found[1]);
}

function change(conversation: Conversation, event: EventOf<"turn.state">): void {
  const { state, attempt, message, next } = event.data;
  const at = Date.parse(event.time);
  conversation.status = state;
  closeState(conversation, at);
  if (state !== "retrying" && state !== "compacting") return;
  const entry: StateEntry = {
    type: state,
    key: `state ${event.sequence}`,
    rev: 0,
    attempt: attempt ?? null,
    message: message ?? "",
    next: next ?? null,
    startedAt: at,
    endedAt: null,
  };
  conversation.state = entry;
  conversation.entries.push(entry);
  const { turn } = conversation;
  if (turn === null) return;
  if (state === "retrying") turn.retries += 1;
  else turn.compactions += 1;
}

function closeState(conversation: Conversation, at: number): void {
  if (conversation.state === null) return;
  conversation.state.endedAt = at;
  conversation.state.rev += 1;
  conversation.state = null;
}

function goOn(conversation: Conversation, { data, time, sequence }: EventOf<"turn.continued">): void {
  if (data.decision === "continue" && conversation.turn !== null) conversation.turn.continuations += 1;
  const words = { continue: "Continued", settle: "Settled", ask: "Asked" } as const;
  const label = `${words[data.decision]}: ${data.reason}`;
  const detail = data.decision === "continue" ? `${data.attempt} of ${data.limit}` : "";
  const at = Date.parse(time);
  conversation.entries.push({ type: "note", key: `note ${sequence}`, rev: 0, tone: "plain", label, detail, at });
}

function end(conversation: Conversation, event: EventOf<"turn.ended">): void {
  const { data, cause, sequence } = event;
  const at = Date.parse(event.time);
  closeState(conversation, at);
  conversation.status = "idle";
  const turn = conversation.turn ?? lost(conversation, event);
  conversation.turn = null;
  turn.usage = data.usage;
  turn.background = data.background;
  turn.end = {
    at,
    reason: data.reason,
    evidence: data.evidence,
    error: data.error ?? null,
    line: cause.line,
    rule: cause.rule ?? null,
    sequence,
    closedItems: conversation.entries.filter((entry) => entry.type === "text" && entry.failed && entry.endedAt === at)
      .length,
  };
  conversation.entries.push({ type: "end", key: `end ${turn.id}`, rev: 0, turn });
}

/** Its start is before the first event that was loaded. */
function lost(conversation: Conversation, { data, time, sequence }: EventOf<"turn.ended">): Turn {
  const started = { turn_id: data.turn_id, origin: "user" } as const;
  const turn: Turn = {
    id: started.turn_id,
    number: turnNumber(data.turn_id) ?? 0,
    origin: started.origin,
    startedAt: Date.parse(time),
    sequence,
    prompt: "",
    steps: 0,
    usage: null,
    retries: 0,
    compactions: 0,
    continuations: 0,
    end: null,
    background: [],
  };
  conversation.turns.push(turn);
  return turn;
}

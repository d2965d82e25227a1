/** The words of docs/events.md that no schema knows, and examples of events that no recording has. */
import type { Envelope, EventType, UniversalEvent } from "../../src/protocol/events.ts";
import { eventId, sessionId, turnId } from "../../src/protocol/ids.ts";

/** One paragraph each: when it comes and what it means. */
export const meanings: Readonly<Record<EventType, string>> = {
  "session.started":
    "The session exists. Once per session, before anything is done in it. Metadata may hold more than these fields.",
  "session.updated": [
    "Something about the session changed; only the changed fields are there. `queue` is the whole queue of prompts that wait.",
    "`revert`: everything from this message on (or from the item of that native id in it) is taken back, files too, until the next prompt makes it final; null when it is not any more. `removed`: these messages, or these items of them, are no part of the conversation any more; the log keeps what was said. `share`: where others can read the session, null when they cannot any more.",
  ].join("\n\n"),
  "session.ended":
    "The session is over: it was terminated or deleted. Once, last. The end of a turn or of an agent's process is never the end of a session, and `convert` never emits it.",
  "turn.started":
    "The session is busy. `origin` is `user` for a prompt, `queue` for one that had to wait, `background` or `agent` when the agent began by itself.",
  "turn.state":
    "What the turn is doing, when that changed. `attempt`, `message` and `next` (epoch milliseconds of the next try) come together, with `retrying` only.",
  "turn.continued":
    "A decision of the [continuation governor](continuation.md): whether a turn that could end goes on, and why.",
  "turn.ended":
    "The session is idle. Exactly one per `turn.started`, whatever the agent did. `reason` says how it ended, `evidence` why we know; `background` names work that goes on without a turn. See [the turn](turn.md).",
  "item.started":
    "An item begins. A tool item already carries its part with name and call id; a message item an empty text or reasoning part.",
  "item.delta":
    "A piece of an item's text, reasoning or tool output. The deltas of a completed text or reasoning block add up to exactly its final text.",
  "item.completed":
    "The item is final, as `completed` or `failed`. Nothing about it follows. Its content is the whole, also where there were deltas.",
  "permission.requested":
    "The agent waits for a yes or no. Answer at `POST /v1/sessions/{id}/permissions/{permission_id}/reply`; after `deadline` it is rejected.",
  "permission.resolved":
    "It was answered, by a person, a policy, a deadline, or the agent itself. Exactly one per request.",
  "question.requested":
    "The agent asks something. `questions` has all of it; `prompt` and `options` repeat the first question for simple clients.",
  "question.resolved": "It was answered or rejected. `response` has one list of labels for each question.",
  "todo.updated": "The agent's plan, whole.",
  "usage.updated":
    "Tokens and cost: of one model step at its end (or null when only totals changed), and the totals of the turn and the session. `input` excludes cache, `output` excludes reasoning, for every agent.",
  "budget.updated":
    "A [budget](budgets.md) is used to 80 % (`warned`), or used up (`reached`): then the turn is stopped with reason `budget`, unless it was about to end by itself. Each is sent once, and only where a budget is set.",
  error:
    "Something went wrong. An error that is not `fatal` does not end the turn. A turn that ends with reason `error` has exactly one fatal error before its end: the one that the agent reported, or ours for a crash or a watchdog.",
  "agent.unparsed":
    "A native line that fits no shape we know. Nothing is dropped in silence: the line is kept among the session's native lines.",
};

const session = sessionId("hello");

const envelope = (sequence: number): Envelope => ({
  event_id: eventId(session, sequence),
  sequence,
  time: "2026-11-16T09:30:00.000Z",
  session_id: session,
  native_session_id: "mock-hello",
  turn_id: null,
  source: "daemon",
  synthetic: false,
  raw: null,
  cause: { line: null },
  v: 1,
});

export const examples: Readonly<Partial<Record<EventType, UniversalEvent>>> = {
  "session.ended": {
    ...envelope(52),
    type: "session.ended",
    data: { reason: "terminated", terminated_by: "user" },
  },
  "turn.continued": {
    ...envelope(31),
    turn_id: turnId(session, 1),
    type: "turn.continued",
    data: {
      turn_id: turnId(session, 1),
      decision: "continue",
      reason: "2 todos are open",
      attempt: 1,
      limit: 3,
      inputs: { natural: true, waiting: { requests: 0, queued: 0, background: 0 } },
    },
    cause: { line: 40, rule: "turn.settlement" },
  },
  "budget.updated": {
    ...envelope(36),
    turn_id: turnId(session, 1),
    type: "budget.updated",
    data: { scope: "prompt", kind: "cost", limit: 0.5, used: 0.41, state: "warned" },
    cause: { line: 44, rule: "turn.budget" },
  },
};

/** Rules about an event's place: sequence, ids, time, source, and the first and last event of a session. */
import { unreachable } from "../core/fold.ts";
import type { Checker, Rule } from "../core/lint.ts";
import type { UniversalEvent } from "../protocol/events.ts";

export const envelopeRules: readonly Rule<UniversalEvent>[] = [
  {
    id: "universal.sequence",
    says: "The sequence of a session starts at 1 and has no gap and no repeat.",
    check: sequence,
  },
  { id: "universal.event-id", says: "An event's id is `<session_id>:<sequence>`.", check: eventId },
  { id: "universal.time", says: "Time never goes back within a session.", check: time },
  {
    id: "universal.ids",
    says: "Turns, items, permissions and questions are named `<session_id>:` and `t`, `i`, `p` or `q` with a number that counts up.",
    check: ids,
  },
  {
    id: "universal.source",
    says: "What Franca made is from the daemon: synthetic events, and everything about turns.",
    check: source,
  },
  { id: "universal.native-id", says: "A native session id that is known is not forgotten.", check: nativeId },
  {
    id: "universal.session-started",
    says: "`session.started` is said exactly once, before anything is done.",
    check: sessionStarted,
  },
  {
    id: "universal.session-ended",
    says: "`session.ended` is said at most once, and nothing follows it.",
    check: ended,
  },
];

function sequence(): Checker<UniversalEvent> {
  let last = 0;
  return {
    step(event) {
      const expected = last + 1;
      last = event.sequence;
      return event.sequence === expected ? [] : [`sequence ${event.sequence}, expected ${expected}`];
    },
  };
}

function eventId(): Checker<UniversalEvent> {
  return {
    step(event) {
      const expected = `${event.session_id}:${event.sequence}`;
      return event.event_id === expected ? [] : [`event_id ${event.event_id}, expected ${expected}`];
    },
  };
}

function time(): Checker<UniversalEvent> {
  let last = "";
  return {
    step(event) {
      const before = last;
      last = event.time;
      return event.time < before ? [`${event.time} comes after ${before}`] : [];
    },
  };
}

type Letter = "t" | "i" | "p" | "q";

/** What an event begins, if anything: the letter of its kind and its id. */
function begun(event: UniversalEvent): { readonly letter: Letter; readonly id: string } | null {
  switch (event.type) {
    case "turn.started":
      return { letter: "t", id: event.data.turn_id };
    case "item.started":
      return { letter: "i", id: event.data.item.item_id };
    case "permission.requested":
      return { letter: "p", id: event.data.permission_id };
    case "question.requested":
      return { letter: "q", id: event.data.question_id };
    default:
      return null;
  }
}

function ids(): Checker<UniversalEvent> {
  const counts = { t: 0, i: 0, p: 0, q: 0 };
  return {
    step(event) {
      const one = begun(event);
      if (one === null) return [];
      counts[one.letter] += 1;
      const expected = `${event.session_id}:${one.letter}${counts[one.letter]}`;
      return one.id === expected ? [] : [`${one.id} begins, expected ${expected}`];
    },
  };
}

function source(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.source === "daemon") return [];
      if (event.synthetic) return [`${event.type} is synthetic and not from the daemon`];
      return event.type.startsWith("turn.") ? [`${event.type} is not from the daemon`] : [];
    },
  };
}

function nativeId(): Checker<UniversalEvent> {
  let known: string | null = null;
  return {
    step(event) {
      if (event.native_session_id === null && known !== null) return [`the native session id ${known} is gone`];
      known = event.native_session_id;
      return [];
    },
  };
}

/** What may be said of a session that has not started. */
function isPreliminary(event: UniversalEvent): boolean {
  switch (event.type) {
    case "session.started":
    case "session.updated":
    case "session.ended":
    case "error":
    case "agent.unparsed":
      return true;
    case "turn.started":
    case "turn.state":
    case "turn.continued":
    case "turn.ended":
    case "item.started":
    case "item.delta":
    case "item.completed":
    case "permission.requested":
    case "permission.resolved":
    case "question.requested":
    case "question.resolved":
    case "todo.updated":
    case "usage.updated":
    case "budget.updated":
      return false;
    default:
      return unreachable(event);
  }
}

function sessionStarted(): Checker<UniversalEvent> {
  let started = false;
  let complained = false;
  return {
    step(event) {
      if (event.type === "session.started") {
        const again = started;
        started = true;
        return again ? ["session.started is said again"] : [];
      }
      if (started || complained || isPreliminary(event)) return [];
      complained = true;
      return [`${event.type} comes before session.started`];
    },
  };
}

function ended(): Checker<UniversalEvent> {
  let over = false;
  return {
    step(event) {
      if (over) return [`${event.type} follows session.ended`];
      over = event.type === "session.ended";
      return [];
    },
  };
}

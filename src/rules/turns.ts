/** Rules about turns: each begins once and ends once, and nothing of it is open afterwards. */

import type { Checker, Rule } from "../core/lint.ts";
import type { EventOf, TurnState, UniversalEvent } from "../protocol/events.ts";

export const turnRules: readonly Rule<UniversalEvent>[] = [
  { id: "universal.turn-alone", says: "A session has at most one open turn.", check: turnAlone },
  {
    id: "universal.turn-ends-once",
    says: "Every `turn.started` is followed by exactly one `turn.ended` of the same turn.",
    check: turnEndsOnce,
  },
  {
    id: "universal.turn-named",
    says: "An event's `turn_id` is the open turn, and null outside of turns.",
    check: turnNamed,
  },
  {
    id: "universal.turn-state",
    says: "`turn.state` names the open turn and says something new; only `retrying` has attempt, message and next.",
    check: turnState,
  },
  {
    id: "universal.turn-waits",
    says: "While a permission or a question is open, its turn is shown as `requires_action`.",
    check: turnWaits,
  },
  {
    id: "universal.turn-closed",
    says: "When a turn ends no request is open, and no item but background work that `turn.ended` names.",
    check: turnClosed,
  },
  {
    id: "universal.turn-reason",
    says: "`turn.ended` fits its evidence: reason `error` has an error, a restart interrupts, a watchdog is an error, an abort or a budget.",
    check: turnReason,
  },
  {
    id: "universal.turn-error",
    says: "A turn that ends with reason `error` has one fatal `error` before its end; no turn has two, and none is outside of a turn.",
    check: turnError,
  },
  {
    id: "universal.turn-continued",
    says: "A continuation belongs to the open turn and stays within its limit.",
    check: turnContinued,
  },
];

function turnAlone(): Checker<UniversalEvent> {
  let open: string | null = null;
  return {
    step(event) {
      const before = open;
      if (event.type === "turn.started") open = event.data.turn_id;
      else if (event.type === "turn.ended") open = null;
      return event.type === "turn.started" && before !== null ? [`${open} begins while ${before} is open`] : [];
    },
  };
}

function turnEndsOnce(): Checker<UniversalEvent> {
  const open = new Set<string>();
  return {
    step(event) {
      if (event.type === "turn.started") open.add(event.data.turn_id);
      if (event.type !== "turn.ended") return [];
      return open.delete(event.data.turn_id) ? [] : [`${event.data.turn_id} ends, and is not open`];
    },
    end: () => [...open].map((turn) => `${turn} has no end`),
  };
}

function turnNamed(): Checker<UniversalEvent> {
  let open: string | null = null;
  return {
    step(event) {
      if (event.type === "turn.started") open = event.data.turn_id;
      const expected = open;
      if (event.type === "turn.ended") open = null;
      return event.turn_id === expected ? [] : [`${event.type} has turn_id ${event.turn_id}, expected ${expected}`];
    },
  };
}

function turnState(): Checker<UniversalEvent> {
  let shown: TurnState = "running";
  let open: string | null = null;
  const judge = ({ data }: EventOf<"turn.state">): string[] => {
    const out: string[] = [];
    if (data.turn_id !== open) out.push(`the state of ${data.turn_id}, which is not open`);
    if (data.state === shown && data.state !== "retrying") out.push(`${data.state} is said again`);
    const details = [data.attempt, data.message, data.next].filter((value) => value !== undefined).length;
    if (details !== (data.state === "retrying" ? 3 : 0))
      out.push(`${data.state} with ${details} of attempt, message, next`);
    return out;
  };
  return {
    step(event) {
      if (event.type === "turn.started") {
        shown = "running";
        open = event.data.turn_id;
      }
      if (event.type === "turn.ended") open = null;
      if (event.type !== "turn.state") return [];
      const out = judge(event);
      shown = event.data.state;
      return out;
    },
  };
}

function turnWaits(): Checker<UniversalEvent> {
  const waiting = new Set<string>();
  let shown: TurnState = "running";
  return {
    step(event) {
      switch (event.type) {
        case "turn.started":
          shown = "running";
          return [];
        case "turn.state":
          shown = event.data.state;
          return waiting.size > 0 === (shown === "requires_action")
            ? []
            : [`${shown}, and ${waiting.size} requests are open`];
        case "permission.requested":
          waiting.add(event.data.permission_id);
          return [];
        case "question.requested":
          waiting.add(event.data.question_id);
          return [];
        case "permission.resolved":
          waiting.delete(event.data.permission_id);
          return [];
        case "question.resolved":
          waiting.delete(event.data.question_id);
          return [];
        default:
          return waiting.size > 0 && shown !== "requires_action"
            ? [`${shown}, and ${waiting.size} requests are open`]
            : [];
      }
    },
  };
}

function turnClosed(): Checker<UniversalEvent> {
  const items = new Set<string>();
  const requests = new Set<string>();
  return {
    step(event) {
      switch (event.type) {
        case "item.started":
          items.add(event.data.item.item_id);
          return [];
        case "item.completed":
          items.delete(event.data.item.item_id);
          return [];
        case "permission.requested":
          requests.add(event.data.permission_id);
          return [];
        case "question.requested":
          requests.add(event.data.question_id);
          return [];
        case "permission.resolved":
          requests.delete(event.data.permission_id);
          return [];
        case "question.resolved":
          requests.delete(event.data.question_id);
          return [];
        case "turn.ended": {
          const left = event.data.background.length > 0 ? [...requests] : [...requests, ...items];
          return left.map((id) => `${id} is open at the end of ${event.data.turn_id}`);
        }
        default:
          return [];
      }
    },
  };
}

function turnReason(): Checker<UniversalEvent> {
  return {
    step(event) {
      if (event.type !== "turn.ended") return [];
      const { reason, evidence, error } = event.data;
      const out: string[] = [];
      if (reason === "error" && error === undefined) out.push("reason error without an error");
      if (evidence === "restart" && reason !== "interrupted") out.push(`evidence restart with reason ${reason}`);
      if (evidence === "watchdog" && !["error", "aborted", "budget"].includes(reason)) {
        out.push(`evidence watchdog with reason ${reason}`);
      }
      return out;
    },
  };
}

function turnError(): Checker<UniversalEvent> {
  let fatal = 0;
  return {
    step(event) {
      if (event.type === "turn.started") fatal = 0;
      if (event.type === "error" && event.data.fatal) {
        fatal += 1;
        if (event.turn_id === null) return ["a fatal error outside of a turn"];
        return fatal > 1 ? [`${event.turn_id} has ${fatal} fatal errors`] : [];
      }
      const silent = event.type === "turn.ended" && event.data.reason === "error" && fatal === 0;
      return silent ? [`${event.data.turn_id} ends by an error, and no fatal error was reported`] : [];
    },
  };
}

function turnContinued(): Checker<UniversalEvent> {
  let open: string | null = null;
  return {
    step(event) {
      if (event.type === "turn.started") open = event.data.turn_id;
      if (event.type === "turn.ended") open = null;
      if (event.type !== "turn.continued") return [];
      const { turn_id, decision, attempt, limit } = event.data;
      const out = turn_id === open ? [] : [`a continuation of ${turn_id}, which is not open`];
      if (decision === "continue" && attempt > limit) out.push(`attempt ${attempt} of ${limit}`);
      return out;
    },
  };
}

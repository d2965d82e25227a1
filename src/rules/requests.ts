/** Rules about permissions and questions: each is asked once, inside a turn, and resolved once. */

import type { Checker, Rule } from "../core/lint.ts";
import type { UniversalEvent } from "../protocol/events.ts";

export const requestRules: readonly Rule<UniversalEvent>[] = [
  {
    id: "universal.request-resolved-once",
    says: "Every permission and question that is requested is resolved exactly once, afterwards.",
    check: resolvedOnce,
  },
  {
    id: "universal.request-status",
    says: "A request is `requested`; its resolution is not, and repeats what was asked.",
    check: status,
  },
  { id: "universal.request-in-turn", says: "Requests are made and resolved inside a turn.", check: inTurn },
];

type RequestEvent = Extract<UniversalEvent, { type: `${"permission" | "question"}.${string}` }>;

const isRequest = (event: UniversalEvent): event is RequestEvent =>
  event.type.startsWith("permission.") || event.type.startsWith("question.");

function idOf(event: RequestEvent): string {
  return event.type === "permission.requested" || event.type === "permission.resolved"
    ? event.data.permission_id
    : event.data.question_id;
}

const isAsked = (event: RequestEvent): boolean =>
  event.type === "permission.requested" || event.type === "question.requested";

function resolvedOnce(): Checker<UniversalEvent> {
  const open = new Set<string>();
  return {
    step(event) {
      if (!isRequest(event)) return [];
      const id = idOf(event);
      if (!isAsked(event)) return open.delete(id) ? [] : [`${id} is resolved, and is not open`];
      const again = open.has(id);
      open.add(id);
      return again ? [`${id} is requested again`] : [];
    },
    end: () => [...open].map((id) => `${id} is not resolved`),
  };
}

function status(): Checker<UniversalEvent> {
  const asked = new Map<string, string>();
  return {
    step(event) {
      if (!isRequest(event)) return [];
      const id = idOf(event);
      const out =
        isAsked(event) === (event.data.status === "requested")
          ? []
          : [`${event.type} of ${id} is ${event.data.status}`];
      const before = asked.get(id);
      if (isAsked(event)) asked.set(id, subjectOf(event));
      else {
        asked.delete(id);
        if (before !== undefined && before !== subjectOf(event))
          out.push(`the resolution of ${id} is about something else`);
      }
      return out;
    },
  };
}

function subjectOf({ data }: RequestEvent): string {
  const asked = "permission_id" in data ? [data.action, data.metadata.input] : [data.prompt, data.questions];
  return JSON.stringify([asked, data.metadata.call_id]);
}

function inTurn(): Checker<UniversalEvent> {
  let open = false;
  return {
    step(event) {
      if (event.type === "turn.started") open = true;
      if (event.type === "turn.ended") open = false;
      return isRequest(event) && !open ? [`${event.type} outside of a turn`] : [];
    },
  };
}

/** What a stream of OpenCode events must keep. Native OpenCode breaks some of these; Franca's rendering does not. */
import { type Checker as AnyChecker, defineRules, type Rule } from "../../core/lint.ts";
import type {
  OpenCodeAssistantMessage,
  OpenCodeEvent,
  OpenCodePart,
  OpenCodeToolPart,
} from "../../dialects/opencode.ts";
import { isOpenCodeEvent } from "../../dialects/opencode-stream.ts";

type Checker = AnyChecker<OpenCodeEvent>;

const rules: readonly Rule<OpenCodeEvent>[] = [
  {
    id: "opencode.busy-once",
    says: "A session becomes busy once per turn, and again only after a retry.",
    check: busyOnce,
  },
  {
    id: "opencode.idle-pair",
    says: "Idle is said once per turn: `session.status` idle, and `session.idle` right after it.",
    check: idlePair,
  },
  { id: "opencode.idle-last", says: "Nothing of a turn comes after its idle.", check: idleLast },
  { id: "opencode.turn-ends", says: "Every busy session becomes idle.", check: turnEnds },
  {
    id: "opencode.tool-forward",
    says: "A tool part begins pending, passes running and becomes final once; its name, call and input stay.",
    check: toolForward,
  },
  { id: "opencode.tool-final", says: "Every tool part is final when its session is idle.", check: toolFinal },
  {
    id: "opencode.message-completed",
    says: "Every assistant message has `time.completed` when its session is idle, and is not updated after that.",
    check: messageCompleted,
  },
  {
    id: "opencode.text-adds-up",
    says: "The deltas of a text or reasoning part add up to its one final update, which has `time.end`.",
    check: textAddsUp,
  },
  {
    id: "opencode.known-parents",
    says: "Parts name known messages that were not removed, deltas known parts.",
    check: knownParents,
  },
  { id: "opencode.ids-sort", says: "Event ids are unique, and ascend within a session.", check: idsSort },
  {
    id: "opencode.requests-resolved",
    says: "Answers name a request that was asked, each is answered once, and none is open at idle.",
    check: requestsResolved,
  },
];

export const openCodeRules = defineRules({ dialect: "opencode", rules, isEvent: isOpenCodeEvent });

type Status = "idle" | "busy" | "retry";

function busyOnce(): Checker {
  const statuses = new Map<string, Status>();
  return {
    step(event) {
      if (event.type !== "session.status") return [];
      const { sessionID, status } = event.properties;
      const before = statuses.get(sessionID) ?? "idle";
      statuses.set(sessionID, status.type);
      return status.type === "busy" && before === "busy" ? [`${sessionID} is busy already`] : [];
    },
  };
}

function idlePair(): Checker {
  const statuses = new Map<string, Status>();
  let expected: string | null = null;
  return {
    step(event) {
      const out: string[] = [];
      const due = expected;
      expected = null;
      const isPair = event.type === "session.idle" && event.properties.sessionID === due;
      if (due !== null && !isPair) out.push(`session.idle of ${due} does not follow its status idle`);
      if (event.type === "session.idle" && !isPair) {
        out.push(`session.idle of ${event.properties.sessionID} without its status idle`);
      }
      if (event.type !== "session.status") return out;
      const { sessionID, status } = event.properties;
      const before = statuses.get(sessionID) ?? "idle";
      statuses.set(sessionID, status.type);
      if (status.type !== "idle") return out;
      expected = sessionID;
      if (before === "idle") out.push(`${sessionID} is idle already`);
      return out;
    },
    end: () => (expected === null ? [] : [`session.idle of ${expected} does not follow its status idle`]),
  };
}

/** A prompt may be shown before its turn begins, as OpenCode itself does. */
function idleLast(): Checker {
  const seen = new Map<string, Status>();
  const prompts = new Set<string>();
  return {
    step(event) {
      if (event.type === "session.status") {
        seen.set(event.properties.sessionID, event.properties.status.type);
        return [];
      }
      if (event.type === "message.updated" && event.properties.info.role === "user") {
        prompts.add(event.properties.info.id);
        return [];
      }
      if (event.type === "message.part.updated" && prompts.has(event.properties.part.messageID)) return [];
      const session = turnSession(event);
      return session !== null && seen.get(session) === "idle" ? [`${event.type} of ${session} after its idle`] : [];
    },
  };
}

/** The session whose turn an event belongs to; null for what may come at any time. */
function turnSession(event: OpenCodeEvent): string | null {
  switch (event.type) {
    case "message.updated":
      return event.properties.info.sessionID;
    case "message.part.updated":
      return event.properties.part.sessionID;
    case "message.part.delta":
    case "permission.asked":
    case "permission.replied":
    case "question.asked":
    case "question.replied":
    case "question.rejected":
    case "session.compacted":
      return event.properties.sessionID;
    default:
      return null;
  }
}

function turnEnds(): Checker {
  const open = new Set<string>();
  return {
    step(event) {
      if (event.type !== "session.status") return [];
      const { sessionID, status } = event.properties;
      if (status.type === "idle") open.delete(sessionID);
      else open.add(sessionID);
      return [];
    },
    end: () => [...open].map((session) => `${session} is still busy at the end`),
  };
}

const toolPartOf = (event: OpenCodeEvent): OpenCodeToolPart | null =>
  event.type === "message.part.updated" && event.properties.part.type === "tool" ? event.properties.part : null;

const order = { pending: 0, running: 1, completed: 2, error: 2 } as const;

function toolForward(): Checker {
  const known = new Map<string, OpenCodeToolPart>();
  return {
    step(event) {
      const part = toolPartOf(event);
      if (part === null) return [];
      const before = known.get(part.id);
      known.set(part.id, part);
      const name = `${part.tool} ${part.id}`;
      if (before === undefined) return part.state.status === "pending" ? [] : [`${name} does not begin pending`];
      const out: string[] = [];
      const from = order[before.state.status];
      const to = order[part.state.status];
      if (from === 2) out.push(`${name} is updated after it was final`);
      else if (to < from || to - from > 1) out.push(`${name} goes from ${before.state.status} to ${part.state.status}`);
      if (before.tool !== part.tool || before.callID !== part.callID) out.push(`${name} changed its name or call`);
      const settled = from >= 1 && JSON.stringify(before.state.input) !== JSON.stringify(part.state.input);
      if (settled) out.push(`${name} changed its input`);
      return out;
    },
  };
}

function toolFinal(): Checker {
  const open = new Map<string, OpenCodeToolPart>();
  const left = (session: string | null): string[] =>
    [...open.values()]
      .filter((part) => session === null || part.sessionID === session)
      .map((part) => `${part.tool} ${part.id} is ${part.state.status} at idle`);
  return {
    step(event) {
      const part = toolPartOf(event);
      if (part !== null) {
        if (order[part.state.status] === 2) open.delete(part.id);
        else open.set(part.id, part);
        return [];
      }
      return event.type === "session.idle" ? left(event.properties.sessionID) : [];
    },
  };
}

function messageCompleted(): Checker {
  const open = new Map<string, OpenCodeAssistantMessage>();
  const done = new Set<string>();
  return {
    step(event) {
      if (event.type === "session.idle") {
        const { sessionID } = event.properties;
        return [...open.values()]
          .filter((message) => message.sessionID === sessionID)
          .map((message) => `${message.id} is not completed at idle`);
      }
      if (event.type !== "message.updated" || event.properties.info.role !== "assistant") return [];
      const { info } = event.properties;
      if (done.has(info.id)) return [`${info.id} is updated after it was completed`];
      if (info.time?.completed === undefined) open.set(info.id, info);
      else {
        open.delete(info.id);
        done.add(info.id);
      }
      return [];
    },
  };
}

interface Writing {
  text: string;
  done: boolean;
}

function textAddsUp(): Checker {
  const parts = new Map<string, Writing>();
  return {
    step(event) {
      if (event.type === "message.part.delta") {
        const { partID, delta } = event.properties;
        const writing = parts.get(partID);
        if (writing === undefined) return [];
        writing.text += delta;
        return writing.done ? [`a delta of ${partID} after its final update`] : [];
      }
      if (event.type !== "message.part.updated") return [];
      const { part, delta } = event.properties;
      if ((part.type !== "text" && part.type !== "reasoning") || part.time === undefined) return [];
      const before = parts.get(part.id);
      const done = part.time.end !== undefined;
      if (before === undefined || delta !== undefined) {
        parts.set(part.id, { text: part.text, done });
        return [];
      }
      parts.set(part.id, { text: part.text, done });
      if (before.done) return [`${part.id} is updated after it was final`];
      return before.text === part.text ? [] : [`the deltas of ${part.id} do not add up to its text`];
    },
    end: () => [...parts].filter(([, { done }]) => !done).map(([id]) => `${id} never became final`),
  };
}

function knownParents(): Checker {
  const messages = new Set<string>();
  const parts = new Set<string>();
  return {
    step(event) {
      if (event.type === "message.updated") messages.add(event.properties.info.id);
      if (event.type === "message.removed") messages.delete(event.properties.messageID);
      if (event.type === "message.part.removed") parts.delete(event.properties.partID);
      if (event.type === "message.part.updated") {
        const { part }: { part: OpenCodePart } = event.properties;
        parts.add(part.id);
        return messages.has(part.messageID) ? [] : [`${part.id} belongs to ${part.messageID}, which is not known`];
      }
      if (event.type !== "message.part.delta") return [];
      const { partID } = event.properties;
      return parts.has(partID) ? [] : [`a delta of ${partID}, which is not known`];
    },
  };
}

function idsSort(): Checker {
  const latest = new Map<string, string>();
  const seen = new Set<string>();
  return {
    step(event) {
      const { id, type } = event;
      if (id === undefined) return [`${type} has no id`];
      const out = seen.has(id) ? [`${id} is not unique`] : [];
      seen.add(id);
      const session = turnSession(event);
      if (session === null) return out;
      const before = latest.get(session) ?? "";
      latest.set(session, id);
      return id > before ? out : [...out, `${id} does not sort after ${before}`];
    },
  };
}

function requestsResolved(): Checker {
  const open = new Map<string, string>();
  const asked = new Set<string>();
  const answer = ({ sessionID, requestID }: { sessionID: string; requestID: string }): string[] => {
    if (open.delete(requestID)) return [];
    return [`${requestID} of ${sessionID} was ${asked.has(requestID) ? "answered twice" : "never asked"}`];
  };
  return {
    step(event) {
      switch (event.type) {
        case "permission.asked":
        case "question.asked":
          open.set(event.properties.id, event.properties.sessionID);
          asked.add(event.properties.id);
          return [];
        case "permission.replied":
        case "question.replied":
        case "question.rejected":
          return answer(event.properties);
        case "session.idle":
          return [...open]
            .filter(([, session]) => session === event.properties.sessionID)
            .map(([id]) => `${id} is open at idle`);
        default:
          return [];
      }
    },
  };
}

/**
 * Events in the form of OpenCode's newer API (`/api/event`, `…/history`), from the ones that the older API has. What
 * one universal event is to it depends on that event and the state of the projection alone, so it can be rendered from
 * any place of the log.
 */

import { defined } from "../../core/defined.ts";
import type { OpenCodeEvent, OpenCodePart, OpenCodePermission, OpenCodeToolPart } from "../../dialects/opencode.ts";
import { DEFAULT_MODE, modelOf, type OpenCodeState } from "../../projections/opencode/index.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { messageIn, nextMessage, type WholeMessage } from "./next-messages.ts";

type Fields = Readonly<Record<string, unknown>>;

/** As it stands on the wire. */
export interface NextEvent {
  readonly id: string;
  readonly type: string;
  /** What is replayed; `seq` orders the events of a session. It grows by more than one. */
  readonly durable?: { readonly aggregateID: string; readonly seq: number; readonly version: number };
  readonly location?: { readonly directory: string };
  readonly data: Fields;
}

/** How many events of the newer API one universal event may become. */
const PER_EVENT = 1_000;

/** The universal event that a sequence number of the newer API belongs to. */
export const sequenceOf = (seq: number): number => Math.floor(seq / PER_EVENT);
/** The number that stands for a universal event and everything before it. */
export const seqUpTo = (sequence: number): number => sequence * PER_EVENT + PER_EVENT - 1;

interface Batch {
  readonly event: UniversalEvent;
  readonly out: readonly OpenCodeEvent[];
  readonly state: OpenCodeState;
  readonly timestamp: number;
}

/** One of them before it has its place. */
interface Draft {
  readonly type: string;
  readonly data: Fields;
  /** Null for what is not replayed. */
  readonly version: number | null;
}

export function nextEvents(
  state: OpenCodeState,
  event: UniversalEvent,
  out: readonly OpenCodeEvent[],
): readonly NextEvent[] {
  const batch: Batch = { event, out, state, timestamp: Date.parse(event.time) };
  const events: NextEvent[] = [];
  for (const one of out) {
    for (const [nth, { type, data, version }] of draftsOf(batch, one).entries()) {
      const { sessionID } = data;
      const seq = event.sequence * PER_EVENT + Math.min(events.length, PER_EVENT - 1);
      const isDurable = version !== null && typeof sessionID === "string";
      events.push({
        id: idOf(one.id ?? "evt_", nth),
        type,
        ...(isDurable ? { durable: { aggregateID: sessionID, seq, version } } : {}),
        location: { directory: state.directory },
        data,
      });
    }
  }
  return events;
}

/** Several events may come from one: each has an id of its own. */
const idOf = (id: string, nth: number): string => (nth === 0 ? id : `${id.slice(0, -1)}${nth.toString(36)}`);

const fleeting = (type: string, data: Fields): Draft => ({ type, data, version: null });
const durable = (type: string, data: Fields, version = 1): Draft => ({ type, data, version });
/** Of a conversation: only these are replayed. */
const next = (name: string, data: Fields, version = 1): Draft => durable(`session.next.${name}`, data, version);

function draftsOf(batch: Batch, one: OpenCodeEvent): readonly Draft[] {
  const { timestamp } = batch;
  switch (one.type) {
    case "session.created":
    case "session.deleted":
      return [durable(one.type, { ...one.properties })];
    case "session.updated":
      return [durable(one.type, { ...one.properties }), ...changes(batch, one.properties.info)];
    case "message.removed":
      return [durable(one.type, { ...one.properties }), ...committed(batch, one.properties)];
    case "message.updated":
      return one.properties.info.role === "user"
        ? prompted(batch, { ...one.properties.info })
        : answered(batch, one.properties.info);
    case "message.part.updated":
      return one.properties.delta === undefined
        ? partDrafts(batch, one.properties.part)
        : deltaDrafts(batch, { ...ownersOf(one.properties.part), delta: one.properties.delta });
    case "message.part.delta":
      return deltaDrafts(batch, one.properties);
    case "session.status": {
      const { sessionID, status } = one.properties;
      const same = fleeting(one.type, { sessionID, status });
      if (status.type !== "retry") return [same];
      const error = { message: status.message, isRetryable: true };
      return [same, next("retried", { timestamp, sessionID, attempt: status.attempt, error })];
    }
    case "permission.asked":
      return [fleeting("permission.v2.asked", nextPermission(one.properties))];
    case "permission.replied":
      return [fleeting("permission.v2.replied", { ...one.properties })];
    case "question.asked":
      return [fleeting("question.v2.asked", { ...one.properties })];
    case "question.replied":
      return [fleeting("question.v2.replied", { ...one.properties })];
    case "question.rejected":
      return [fleeting("question.v2.rejected", { ...one.properties })];
    default:
      return [fleeting(one.type, { ...one.properties })];
  }
}

type Info = Extract<OpenCodeEvent, { type: "session.updated" }>["properties"]["info"];

/** What a change of a session is called. The messages that OpenCode makes of it have no other trace here. */
function changes({ event, timestamp }: Batch, { id: sessionID, agent, model, revert }: Info): readonly Draft[] {
  // What an agent says of itself was not chosen by anybody.
  if (event.type !== "session.updated" || event.source !== "daemon") return [];
  const { data } = event;
  const messageID = `msg_${event.event_id.replaceAll(/\W/g, "")}`;
  const drafts: Draft[] = [];
  if (data.mode !== undefined || data.permission_mode !== undefined)
    drafts.push(next("agent.switched", { timestamp, sessionID, messageID, agent: agent ?? DEFAULT_MODE }));
  if (data.model !== undefined || data.variant !== undefined)
    drafts.push(next("model.switched", { timestamp, sessionID, messageID, model }));
  if (data.revert === null && (data.removed ?? []).length === 0)
    drafts.push(next("revert.cleared", { timestamp, sessionID }));
  if (data.revert !== undefined && data.revert !== null)
    drafts.push(next("revert.staged", { timestamp, sessionID, revert }));
  return drafts;
}

/** The first message that is gone says where a revert became final. */
function committed({ out, timestamp }: Batch, removed: { sessionID: string; messageID: string }): readonly Draft[] {
  const first = out.find((one) => one.type === "message.removed");
  if (first?.type !== "message.removed" || first.properties !== removed) return [];
  return [next("revert.committed", { timestamp, ...removed })];
}

const partsOf = ({ out }: Batch, id: unknown): OpenCodePart[] =>
  out.flatMap((one) =>
    one.type === "message.part.updated" && one.properties.part.messageID === id ? [one.properties.part] : [],
  );

/** A message of the user's comes whole, with its parts. */
function prompted(batch: Batch, info: Fields): readonly Draft[] {
  const { timestamp } = batch;
  const { id: messageID, sessionID } = info;
  const parts = partsOf(batch, messageID);
  const compaction = parts.find((part) => part.type === "compaction");
  const base = { timestamp, sessionID, messageID };
  if (compaction !== undefined) return [next("compaction.started", { ...base, reason: reasonOf(compaction) })];
  const whole: WholeMessage = { info, parts: parts.map((part) => ({ ...part })) };
  const { type, text, files } = nextMessage(whole);
  if (type === "synthetic") return [next("synthetic", { ...base, text })];
  const prompt = { ...base, prompt: defined({ text, files }), delivery: "steer" };
  return [next("prompt.admitted", prompt), next("prompted", prompt)];
}

const reasonOf = ({ auto }: { readonly auto: boolean }): "auto" | "manual" => (auto ? "auto" : "manual");

type AssistantInfo = Exclude<
  Extract<OpenCodeEvent, { type: "message.updated" }>["properties"]["info"],
  { role: "user" }
>;

/** An answer that failed, or whose agent says nothing about its model steps, ends with its message. */
function answered(batch: Batch, info: AssistantInfo): readonly Draft[] {
  const { id: assistantMessageID, sessionID, time, error, summary, finish = "stop", cost = 0, tokens } = info;
  if (time?.completed === undefined || summary === true) return [];
  const base = { timestamp: batch.timestamp, sessionID, assistantMessageID };
  if (error !== undefined)
    return [next("step.failed", { ...base, error: { type: "unknown", message: messageIn({ ...error }) } }, 2)];
  const isReported = partsOf(batch, assistantMessageID).some(({ type }) => type === "step-finish");
  if (isReported || (tokens !== undefined && (tokens.input > 0 || tokens.output > 0))) return [];
  return [next("step.ended", { ...base, finish, cost, tokens: countsOf(tokens) }, 2)];
}

const NONE = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

function countsOf(tokens: AssistantInfo["tokens"]): Fields {
  if (tokens === undefined) return NONE;
  const { total: _, ...counts } = tokens;
  return counts;
}

/** The words of a summary are a block of the agent's own, and no message. */
const isSummary = ({ event }: Batch): boolean =>
  (event.type === "item.started" || event.type === "item.completed") && event.data.item.kind === "system";

const ownersOf = ({ sessionID, messageID, id: partID }: OpenCodePart) => ({ sessionID, messageID, partID });

function deltaDrafts(
  { event, timestamp }: Batch,
  { sessionID, messageID, partID, delta }: { sessionID: string; messageID: string; partID: string; delta: string },
): readonly Draft[] {
  if (event.type === "item.completed" && event.data.item.kind === "system")
    return [fleeting("session.next.compaction.delta", { timestamp, sessionID, messageID, text: delta })];
  const base = { timestamp, sessionID, assistantMessageID: messageID };
  return isReasoning(event)
    ? [fleeting("session.next.reasoning.delta", { ...base, reasoningID: partID, delta })]
    : [fleeting("session.next.text.delta", { ...base, textID: partID, delta })];
}

/** A block that comes whole has its only delta with its end. */
function isReasoning(event: UniversalEvent): boolean {
  if (event.type === "item.delta") return event.data.part === "reasoning";
  return event.type === "item.completed" && event.data.item.content.some(({ type }) => type === "reasoning");
}

function partDrafts(batch: Batch, part: OpenCodePart): readonly Draft[] {
  const { timestamp, state } = batch;
  const { sessionID, messageID: assistantMessageID, id } = part;
  // Those of the user's are in the prompt.
  if (isOfUser(batch, assistantMessageID)) return [];
  const base = { timestamp, sessionID, assistantMessageID };
  switch (part.type) {
    case "text":
    case "reasoning": {
      const isOver = part.time?.end !== undefined;
      if (isSummary(batch)) {
        const ended = { timestamp, sessionID, messageID: assistantMessageID, reason: "manual" };
        return isOver ? [next("compaction.ended", { ...ended, text: part.text, recent: "" })] : [];
      }
      const block = { ...base, [`${part.type}ID`]: id };
      return [isOver ? next(`${part.type}.ended`, { ...block, text: part.text }) : next(`${part.type}.started`, block)];
    }
    case "step-start":
      return isSummary(batch) ? [] : [next("step.started", { ...base, ...speakerOf(state, sessionID) })];
    case "step-finish": {
      const { reason: finish, cost } = part;
      return [next("step.ended", { ...base, finish, cost, tokens: countsOf(part.tokens), files: [] }, 2)];
    }
    case "tool":
      return toolDrafts(batch, { part, base });
    default:
      return [];
  }
}

const isOfUser = ({ out }: Batch, id: string): boolean =>
  out.some(
    (one) => one.type === "message.updated" && one.properties.info.role === "user" && one.properties.info.id === id,
  );

function speakerOf(state: OpenCodeState, sessionID: string): Fields {
  const conversation = [...state.conversations.values()].find(({ id }) => id === sessionID);
  const { providerID, modelID } = modelOf(state);
  const model = defined({ id: modelID, providerID, variant: state.variant ?? undefined });
  return { agent: conversation?.agent ?? DEFAULT_MODE, model };
}

const PROVIDER = { executed: false };

function toolDrafts(
  { event }: Batch,
  { part, base: message }: { part: OpenCodeToolPart; base: Fields },
): readonly Draft[] {
  const { callID, tool, state } = part;
  const base = { ...message, callID };
  switch (state.status) {
    case "pending":
      return [next("tool.input.started", { ...base, name: tool })];
    case "running": {
      // The first time it runs with its complete input; after that it has something new to show.
      const isProgress = event.type === "item.delta" || event.type === "item.started";
      if (isProgress) return [progress(base, state.metadata ?? {})];
      const { input } = state;
      const ended = next("tool.input.ended", { ...base, text: JSON.stringify(input) });
      return [ended, next("tool.called", { ...base, tool, input, provider: PROVIDER })];
    }
    case "completed": {
      const content = [{ type: "text", text: state.output }];
      const structured = state.metadata ?? {};
      return [next("tool.success", { ...base, structured, content, outputPaths: [], provider: PROVIDER })];
    }
    default:
      return [next("tool.failed", { ...base, error: { type: "unknown", message: state.error }, provider: PROVIDER })];
  }
}

const progress = (base: Fields, structured: Fields): Draft => {
  const { output } = structured;
  const content = typeof output === "string" ? [{ type: "text", text: output }] : [];
  return next("tool.progress", { ...base, structured, content });
};

export const nextPermission = ({
  id,
  sessionID,
  permission: action,
  patterns: resources,
  always: save,
  metadata,
  tool,
}: OpenCodePermission) =>
  defined({
    id,
    sessionID,
    action,
    resources,
    save,
    metadata,
    source: tool === undefined ? undefined : { type: "tool", ...tool },
  });

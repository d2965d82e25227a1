/** Records of a session file of Qwen Code as turns: prompts, model calls, results, and how each turn ended. */
import type { Recorded } from "../../../core/recorded.ts";
import type { FileTurn } from "../../../core/session-files.ts";
import { responseText, textOfParts } from "../../../dialects/gemini-file.ts";
import { partsOf, type QwenFileRecord } from "../../../dialects/qwen-file.ts";
import { isString, type Shape, shapeOf } from "../../../dialects/shape.ts";
import {
  callLine,
  type FileEnd,
  type FileResult,
  type Place,
  resultLine,
  textBlock,
  toolKinds,
  turnOfFile,
  updateLine,
} from "./lines.ts";

/** What a subagent has written into a file of its own. */
export interface QwenSubagent {
  readonly id: string;
  readonly callId: string;
  readonly title: string | null;
  readonly failed: boolean;
  readonly records: readonly QwenFileRecord[];
}

export interface QwenConversation {
  readonly place: Place;
  readonly subagents: readonly QwenSubagent[];
}

/** A person's prompt. Notifications begin turns too, and a message in the middle of a turn begins none. */
export const isPrompt = (record: QwenFileRecord): boolean => record.type === "user" && record.subtype === null;

const isNotification = ({ type, subtype }: QwenFileRecord): boolean =>
  type === "user" && subtype !== null && subtype !== "mid_turn_user_message";

export function turnsOf(records: readonly QwenFileRecord[], { place, subagents }: QwenConversation): FileTurn[] {
  const begins = (record: QwenFileRecord): boolean => isPrompt(record) || isNotification(record);
  const starts = records.flatMap((record, index) => (begins(record) ? [index] : []));
  return starts.flatMap((start, index): FileTurn[] => {
    const mine = records.slice(start, starts[index + 1]);
    const [first, ...rest] = mine;
    if (first === undefined) return [];
    const asked = isPrompt(first);
    const own = rest.flatMap((record) => linesOf(record, place.nativeId));
    const calls = new Set(rest.flatMap(callIds));
    const spawned = subagents
      .filter(({ callId }) => calls.has(callId))
      .flatMap((one) => subagentLines(one, place.nativeId));
    const work = merged(own, spawned);
    // What nobody has answered, and nobody has asked for, is no turn.
    if (!asked && work.length === 0) return [];
    return [
      turnOfFile(place, {
        key: first.uuid,
        at: first.at,
        model: rest.map(({ native }) => native.model).find(isString) ?? null,
        prompt: asked ? blocksOf(first) : null,
        work: asked ? work : [noteLine(first, place.nativeId), ...work],
        end: endOf(rest),
        endAt: rest.findLast(({ type }) => type !== "system")?.at ?? mine.at(-1)?.at ?? null,
      }),
    ];
  });
}

function blocksOf(record: QwenFileRecord): readonly Shape[] {
  return partsOf(record).flatMap((part): Shape[] => {
    if (isString(part.text)) return [textBlock(part.text)];
    const { data, mimeType } = shapeOf(part.inlineData);
    return isString(data) ? [{ type: "image", data, mimeType }] : [];
  });
}

/** That something in the background has ended, as the live stream says it. */
function noteLine(record: QwenFileRecord, session: string): Recorded {
  const { displayText } = shapeOf(record.native.systemPayload);
  const content = textBlock(isString(displayText) ? displayText : textOfParts(shapeOf(record.native.message).parts));
  const _meta = { source: "background_notification" };
  return updateLine(session, { sessionUpdate: "agent_message_chunk", content, _meta }, record.at);
}

/** A model call that goes on with tools, or its failure, which is only in the telemetry. */
function endOf(rest: readonly QwenFileRecord[]): FileEnd {
  let end: FileEnd = { type: "cut" };
  for (const record of rest) {
    if (record.type === "assistant") end = { type: callIds(record).length === 0 ? "completed" : "cut" };
    else if (record.type === "tool_result") end = { type: "cut" };
    else if (record.type === "system") end = failureOf(record) ?? end;
  }
  return end;
}

function failureOf({ native }: QwenFileRecord): FileEnd | null {
  const event = shapeOf(shapeOf(native.systemPayload).uiEvent);
  if (event["event.name"] !== "qwen-code.api_error" || event.subagent_id !== undefined) return null;
  const { error_message: message } = event;
  return { type: "error", message: isString(message) ? message : "The provider has refused the request." };
}

function callIds(record: QwenFileRecord): string[] {
  if (record.type !== "assistant") return [];
  return partsOf(record)
    .map(({ functionCall }) => shapeOf(functionCall).id)
    .filter(isString);
}

/** `session`: that of the conversation, or of a subagent. */
function linesOf(record: QwenFileRecord, session: string): Recorded[] {
  switch (record.type) {
    case "assistant":
      return [
        ...partsOf(record).flatMap((part) => partLines(part, { record, session })),
        ...usageLine(record, session),
      ];
    case "tool_result":
      return resultLines(record, session);
    case "user": {
      const description = textOfParts(shapeOf(record.native.message).parts);
      const notice = { sessionUpdate: "notice", title: "Message during the turn", description };
      return record.subtype === null || description === "" ? [] : [updateLine(session, notice, record.at)];
    }
    case "system":
      return record.subtype === "chat_compression" ? [compactionLine(record, session)] : [];
  }
}

interface Said {
  readonly record: QwenFileRecord;
  readonly session: string;
}

function partLines(part: Shape, { record, session }: Said): Recorded[] {
  const { uuid: messageId, at } = record;
  const { id, name, args } = shapeOf(part.functionCall);
  if (isString(id)) {
    const tool = isString(name) ? name : "tool";
    return [
      callLine(session, { id, name: tool, input: args ?? {}, title: titleOf(tool, shapeOf(args)), at }, toolKinds),
    ];
  }
  if (!isString(part.text) || part.text === "") return [];
  const sessionUpdate = part.thought === true ? "agent_thought_chunk" : "agent_message_chunk";
  return [updateLine(session, { sessionUpdate, content: textBlock(part.text), messageId }, at)];
}

function titleOf(tool: string, { description, command, file_path, pattern }: Shape): string {
  const words = [command, file_path, pattern, description].find((text) => isString(text) && text !== "");
  return isString(words) ? words : tool;
}

function usageLine({ native, at }: QwenFileRecord, session: string): Recorded[] {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, cachedContentTokenCount } = shapeOf(
    native.usageMetadata,
  );
  if (promptTokenCount === undefined) return [];
  const usage = {
    inputTokens: promptTokenCount,
    outputTokens: candidatesTokenCount,
    thoughtTokens: thoughtsTokenCount,
    cachedReadTokens: cachedContentTokenCount,
  };
  const update = { sessionUpdate: "agent_message_chunk", content: textBlock(""), _meta: { usage } };
  return [updateLine(session, update, at)];
}

function resultLines(record: QwenFileRecord, session: string): Recorded[] {
  const { status, resultDisplay } = shapeOf(record.native.toolCallResult);
  return partsOf(record).flatMap(({ functionResponse }): Recorded[] => {
    const { id, response } = shapeOf(functionResponse);
    if (!isString(id)) return [];
    const display = shapeOf(resultDisplay);
    const shown = display.type === "shell_result" ? display.text : resultDisplay;
    const result: FileResult = {
      status: status === "cancelled" ? "cancelled" : status === "success" ? "completed" : "failed",
      output: isString(shown) && shown !== "" ? shown : responseText(response),
      display,
      at: record.at,
    };
    return [resultLine(session, id, result)];
  });
}

function compactionLine({ uuid: compactionId, at }: QwenFileRecord, session: string): Recorded {
  return updateLine(session, { sessionUpdate: "compaction_update", compactionId, status: "completed" }, at);
}

/** Its own session, as agents with subagents of their own say it. */
function subagentLines({ id, title, failed, records }: QwenSubagent, session: string): Recorded[] {
  const [first] = records;
  const last = records.at(-1);
  const state = (now: Shape, at: number | null) =>
    updateLine(session, { sessionUpdate: "subagent_update", sessionId: id, title, state: now }, at);
  const stopReason = failed ? "refusal" : "end_turn";
  return [
    state({ state: "running" }, first?.at ?? null),
    ...records.filter(({ type }) => type !== "user").flatMap((record) => linesOf(record, id)),
    state({ state: "idle", stopReason }, last?.at ?? null),
  ];
}

/** By their times; what a subagent did after its turn's last word is said before the turn ends. */
function merged(own: readonly Recorded[], spawned: readonly Recorded[]): readonly Recorded[] {
  const waiting = [...spawned];
  const out: Recorded[] = [];
  for (const line of own) {
    while (waiting[0] !== undefined && (waiting[0].at ?? 0) < (line.at ?? 0)) out.push(...waiting.splice(0, 1));
    out.push(line);
  }
  return [...out, ...waiting];
}

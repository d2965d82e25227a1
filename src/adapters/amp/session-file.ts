/**
 * Amp's own thread files, as builds up to March 2026 wrote them: one document per thread. Later builds keep threads on
 * their service only.
 */
import { parseJson } from "../../core/json.ts";
import type { Recorded } from "../../core/recorded.ts";
import {
  type AgentFolder,
  type Conversation,
  type ConversationName,
  type FileTurn,
  type FoundConversation,
  isConversationId,
  SessionFileError,
  type SessionFileProblem,
  type SessionFiles,
} from "../../core/session-files.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";

const NAME = /^(T-[0-9a-f-]{36})\.json$/;
const THREADS = "threads";
/** Larger documents are not parsed for a list. */
const LISTED_BYTES = 8 * 1024 * 1024;

export const sessionFiles: SessionFiles = {
  form: "amp-file",
  place: { home: ".local/share/amp", variable: { name: "XDG_DATA_HOME", below: "amp" } },
  tops: [THREADS],
  discover,
  read,
  readOnly: "Amp's own files can be read, but not continued: since April 2026 it keeps its threads on its service.",
};

function* discover(folder: AgentFolder): Generator<FoundConversation | SessionFileProblem> {
  for (const { name, kind } of folder.list(THREADS)) {
    const nativeId = NAME.exec(name)?.[1];
    const path = `${THREADS}/${name}`;
    const facts = kind === "file" && nativeId !== undefined ? folder.facts(path) : null;
    if (nativeId === undefined || facts === null) continue;
    const { size, modifiedAt: updatedAt } = facts;
    const thread = size > LISTED_BYTES ? {} : documentOf(folder.text(path) ?? "");
    if (thread === null) yield { problem: `${path} is damaged: it is not JSON.`, path };
    else yield { nativeId, title: titleOf(thread), directory: directoryOf(thread), updatedAt, size, path };
  }
}

function documentOf(text: string): Shape | null {
  try {
    return shapeOf(parseJson(text));
  } catch {
    return null;
  }
}

const messagesOf = ({ messages }: Shape): readonly Shape[] => (Array.isArray(messages) ? messages.map(shapeOf) : []);

const blocksOf = ({ content }: Shape): readonly Shape[] => (Array.isArray(content) ? content.map(shapeOf) : []);

function titleOf(thread: Shape): string | null {
  if (isString(thread.title)) return thread.title;
  const first = messagesOf(thread).find(isPrompt);
  const text = first === undefined ? undefined : blocksOf(first).find(({ type }) => type === "text")?.text;
  return isString(text) ? text : null;
}

function directoryOf({ env }: Shape): string | null {
  const { trees } = shapeOf(shapeOf(env).initial);
  const { uri } = shapeOf(Array.isArray(trees) ? trees[0] : undefined);
  if (!isString(uri) || !uri.startsWith("file:///")) return null;
  try {
    return decodeURIComponent(uri.slice("file://".length));
  } catch {
    return null;
  }
}

const isPrompt = (message: Shape): boolean =>
  message.role === "user" && blocksOf(message).some(({ type }) => type !== "tool_result");

function read(folder: AgentFolder, { path }: ConversationName): Conversation {
  const text = folder.text(path);
  if (text === null) throw new SessionFileError(`There is no file ${path}.`);
  const thread = documentOf(text);
  const nativeId = thread?.id;
  if (thread === null || !isConversationId(nativeId)) throw new SessionFileError(`${path} is no thread of Amp.`);
  const directory = directoryOf(thread);
  const turns = turnsOf(thread, { nativeId, directory });
  if (turns.length === 0) throw new SessionFileError(`${path} holds no prompt.`);
  const models = messagesOf(thread).map(({ usage }) => shapeOf(usage).model);
  const model = models.filter(isString).at(-1) ?? null;
  return { nativeId, title: titleOf(thread), directory, model, turns, abandoned: 0, unread: [] };
}

interface Thread {
  readonly nativeId: string;
  readonly directory: string | null;
}

function turnsOf(document: Shape, thread: Thread): FileTurn[] {
  const turns: { key: string; entries: Recorded[]; ended: boolean }[] = [];
  let at: number | null = isNumber(document.created) ? document.created : null;
  for (const [index, message] of messagesOf(document).entries()) {
    at = timeOf(message) ?? at;
    if (isPrompt(message)) {
      turns.push({
        key: `${thread.nativeId}/${message.messageId ?? index}`,
        entries: [initLine(thread, at)],
        ended: false,
      });
    }
    const turn = turns.at(-1);
    if (turn === undefined) continue;
    turn.entries.push(lineOf(message, { thread, at }));
    const { type, stopReason } = shapeOf(message.state);
    turn.ended = message.role === "assistant" && type === "complete" && stopReason !== "tool_use";
    if (turn.ended) turn.entries.push(resultLine(message, { thread, at }));
  }
  for (const turn of turns) {
    if (turn.ended) continue;
    turn.entries.push({ type: "exit", exit: { code: null, signal: null }, at: turn.entries.at(-1)?.at ?? null });
  }
  return turns;
}

function timeOf({ meta, usage }: Shape): number | null {
  const { sentAt } = shapeOf(meta);
  if (isNumber(sentAt)) return sentAt;
  const { timestamp } = shapeOf(usage);
  const at = isString(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

interface Place {
  readonly thread: Thread;
  readonly at: number | null;
}

const agent = (line: Shape, at: number | null): Recorded => ({ type: "line", from: "agent", line, at });

const initLine = ({ nativeId, directory }: Thread, at: number | null): Recorded =>
  agent(
    {
      type: "system",
      subtype: "init",
      session_id: nativeId,
      tools: [],
      ...(directory === null ? {} : { cwd: directory }),
    },
    at,
  );

function lineOf(message: Shape, { thread, at }: Place): Recorded {
  const common = { parent_tool_use_id: null, session_id: thread.nativeId };
  if (message.role === "assistant") {
    const { stopReason } = shapeOf(message.state);
    const content = blocksOf(message).map(({ complete: _complete, ...block }) => block);
    const said = { type: "message", role: "assistant", content, stop_reason: stopReason ?? null };
    return agent({ type: "assistant", message: { ...said, ...usageOf(message) }, ...common }, at);
  }
  const content = blocksOf(message).flatMap((block) => (block.type === "tool_result" ? resultOf(block) : [block]));
  return agent({ type: "user", message: { role: "user", content }, ...common }, at);
}

function usageOf({ usage }: Shape): Shape {
  const { inputTokens, outputTokens, cacheCreationInputTokens, cacheReadInputTokens } = shapeOf(usage);
  if (!isNumber(inputTokens) || !isNumber(outputTokens)) return {};
  return {
    usage: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cache_creation_input_tokens: isNumber(cacheCreationInputTokens) ? cacheCreationInputTokens : 0,
      cache_read_input_tokens: isNumber(cacheReadInputTokens) ? cacheReadInputTokens : 0,
    },
  };
}

/** Objects here, text in the stream. A call that waits for a person has no result yet. */
function resultOf({ toolUseID, run }: Shape): Shape[] {
  const { status, result, reason, error } = shapeOf(run);
  const block = { type: "tool_result", tool_use_id: toolUseID };
  switch (status) {
    case "done":
      return [{ ...block, content: isString(result) ? result : JSON.stringify(result ?? ""), is_error: false }];
    case "rejected-by-user":
      return [
        { ...block, content: `Tool execution rejected by user: ${isString(reason) ? reason : ""}`, is_error: true },
      ];
    case "error":
    case "cancelled": {
      const { message } = shapeOf(error);
      return [{ ...block, content: isString(message) ? message : `The tool's run was ${status}.`, is_error: true }];
    }
    default:
      return [];
  }
}

function resultLine(message: Shape, { thread, at }: Place): Recorded {
  const result = blocksOf(message)
    .flatMap(({ type, text }) => (type === "text" && isString(text) ? [text] : []))
    .join("\n");
  return agent({ type: "result", subtype: "success", is_error: false, result, session_id: thread.nativeId }, at);
}

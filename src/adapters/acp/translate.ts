/** The Agent Client Protocol → reports. One fold for every agent that speaks it; their quirks are data. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import { itemHead } from "../../core/report-builders.ts";
import { disconnect, expire, hear, isRpcLine, nextExpiry, overhear, type RpcFailure } from "../../core/rpc.ts";
import type { AcpLine } from "../../dialects/acp.ts";
import { isNumber, isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { ContentPart } from "../../protocol/items.ts";
import { partOf } from "./blocks.ts";
import { onSettingRefused } from "./config.ts";
import { encode, flush, onAttached } from "./encode.ts";
import { onExtension } from "./extensions.ts";
import { onConnected, onInitialized, onOpened, onOpenFailed } from "./handshake.ts";
import { onHostResponse, onHostResult } from "./host.ts";
import { commandLine } from "./launch.ts";
import type { Quirks } from "./quirks.ts";
import { onHostReply, onRequest, onWithdrawn } from "./requests.ts";
import { nextKey, type Purpose, type State, start } from "./state.ts";
import { endQuiet, onFailure, onResult, quietAt, userItem } from "./turns.ts";
import { onUpdate } from "./updates.ts";
import { beginTurn } from "./work.ts";

interface Known {
  readonly quirks: Quirks;
  readonly launch: (options: LaunchOptions) => Launch;
  readonly keys: readonly string[];
}

export const acpFold = ({ quirks, launch, keys }: Known): Fold<AdapterInput<AcpLine>, Report | Send, State> => ({
  start: () => start(quirks),
  step(state, input) {
    switch (input.type) {
      case "line":
        state.at = input.at;
        return input.from === "host" ? onHostLine(state, input) : onLine(state, input.line);
      case "command":
        return encode(state, input);
      case "connected":
        return onConnected(state, { quirks, keys, command: commandLine(launch(input.options)) }, input);
      case "disconnected":
        return disconnect(state.rpc).flatMap(({ context, failure }) => onFailed(state, context, failure));
      case "tick":
        return [
          ...expire(state.rpc, input.at).flatMap(({ context, failure }) => onFailed(state, context, failure)),
          ...endQuiet(state, input.at),
        ];
      case "response":
        state.at = input.at;
        return input.id.startsWith("host/attach/") ? onAttached(state, input) : onHostResponse(state, input);
      default:
        return unreachable(input);
    }
  },
});

export function wakeAt(state: State): number | null {
  const due = [nextExpiry(state.rpc), quietAt(state)].filter((at) => at !== null);
  return due.length === 0 ? null : Math.min(...due);
}

function onLine(state: State, line: AcpLine): (Report | Send)[] {
  if (line.method === "session/update" && isUpdate(line)) return onUpdate(state, line.params);
  // The agent could not read a line of ours.
  if (line.method === undefined && line.id === null) return "error" in line ? unreadLine(line.error.message) : [];
  if (!isRpcLine(line)) return [];
  const heard = hear(state.rpc, line);
  switch (heard.type) {
    case "result":
      return onAnswered(state, heard.context, heard.result);
    case "failure":
      return onFailed(state, heard.context, heard.failure);
    case "request":
      return onRequest(state, heard);
    case "notification":
      return onNotification(state, heard);
    case "stray":
      return [];
    default:
      return unreachable(heard);
  }
}

const isUpdate = (
  line: AcpLine,
): line is Extract<AcpLine, { method: "session/update" }> & { params: { sessionId: string } } =>
  line.method === "session/update" && "params" in line && isShape(line.params) && isShape(line.params.update);

const unreadLine = (message: string): Report[] => [{ type: "error", message, code: "agent_error", fatal: false }];

/** Notifications outside the protocol's own begin with an underscore, or should. */
function onNotification(state: State, { method, params }: { method: string; params: unknown }): Report[] {
  if (method === "$/cancel_request") return onWithdrawn(state, shapeOf(params).requestId);
  if (method === "elicitation/complete" || method === "_auth/status_update" || method === "auth/status_update")
    return [];
  const known = onExtension(state, { method, params });
  if (known !== null) return known;
  const text = JSON.stringify({ method, params });
  return [{ type: "unparsed", error: `An unknown notification: ${method}`, location: "acp", text }];
}

function onAnswered(state: State, context: Purpose, result: unknown): (Report | Send)[] {
  switch (context.type) {
    case "initialize":
      return onInitialized(state, result);
    case "open":
      return [...onOpened(state, { session: context.session, result: shapeOf(result) }), ...flush(state)];
    case "prompt":
      state.prompts = Math.max(0, state.prompts - 1);
      // Version 2 only says that it has taken the prompt.
      return state.version === 2 ? [] : onResult(state, shapeOf(result));
    case "set":
      return onSet(state, shapeOf(result));
    case "authenticate":
    case "other":
      return [];
    default:
      return unreachable(context);
  }
}

function onSet(state: State, result: Shape): (Report | Send)[] {
  state.settings = Math.max(0, state.settings - 1);
  if (Array.isArray(result.configOptions)) state.opened = { ...state.opened, configOptions: result.configOptions };
  return flush(state);
}

function onFailed(state: State, context: Purpose, failure: RpcFailure): (Report | Send)[] {
  switch (context.type) {
    case "initialize":
    case "open":
      return onOpenFailed(state, failure);
    case "prompt":
      state.prompts = Math.max(0, state.prompts - 1);
      return onFailure(state, failure);
    case "set":
      state.settings = Math.max(0, state.settings - 1);
      if (failure.kind === "closed") return [];
      return [...onSettingRefused(context.what, failure.message), ...flush(state)];
    case "authenticate":
    case "other":
      return failure.kind === "closed"
        ? []
        : [{ type: "error", message: failure.message, code: "request_refused", fatal: false }];
    default:
      return unreachable(context);
  }
}

type HostLine = Extract<AdapterInput<AcpLine>, { type: "line" }>;

/** Recordings only: what the host asked, answered and stopped. */
function onHostLine(state: State, { line, place }: HostLine): Report[] {
  const { id, method } = line;
  if (method === undefined) {
    if (id === undefined || id === null) return [];
    const overheard = state.asked.get(`overheard/${id}`);
    const result = "result" in line ? line.result : undefined;
    state.rpc.asked.delete(id);
    if (overheard === undefined) return onHostReply(state, { id, result });
    state.asked.delete(`overheard/${id}`);
    return onHostResult(state, overheard, result);
  }
  const params = shapeOf("params" in line ? line.params : undefined);
  if (method === "session/cancel" && (params.sessionId === state.session || state.session === null))
    state.cancelled = true;
  if (method === "$/cancel_request" && isPrompt(state, params.requestId)) state.cancelled = true;
  if (id === undefined || id === null) return [];
  const context = purposeOf(method, params);
  overhear(state.rpc, { id, method, context, expiresAt: Number.POSITIVE_INFINITY });
  return context.type === "prompt" ? onHostPrompt(state, params, place) : [];
}

const isPrompt = ({ rpc }: State, id: unknown): boolean =>
  (isString(id) || isNumber(id)) && rpc.pending.get(id)?.context.type === "prompt";

function purposeOf(method: string, { sessionId, modeId, modelId, configId, value }: Shape): Purpose {
  const session = isString(sessionId) ? sessionId : null;
  switch (method) {
    case "initialize":
      return { type: "initialize" };
    case "session/new":
      return { type: "open", drops: false, session: null };
    case "session/load":
    case "session/resume":
      return { type: "open", drops: true, session };
    case "session/fork":
      return { type: "open", drops: true, session: null };
    case "session/prompt":
      return { type: "prompt" };
    case "session/set_mode":
    case "session/set_model":
    case "session/set_config_option":
      return { type: "set", what: String(modeId ?? modelId ?? `${configId} ${value}`) };
    default:
      return { type: "other" };
  }
}

/** The agent may be busy: then the prompt's turn begins when the one before is over. */
function onHostPrompt(state: State, { prompt }: Shape, host: number | undefined): Report[] {
  const blocks = Array.isArray(prompt) ? prompt.map(shapeOf) : [];
  const content = blocks.map((block): ContentPart => {
    if (block.type === "text" && isString(block.text)) return { type: "text", text: block.text };
    return partOf({ ...block, type: String(block.type) });
  });
  const item = itemHead("message", { key: nextKey(state, "prompt"), native_item_id: null, role: "user", content });
  state.prompts += 1;
  if (state.turn === "asked") {
    state.queued.push({ item, host });
    return [];
  }
  return [...beginTurn(state, "asked"), ...userItem(item)];
}

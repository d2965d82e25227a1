/** Which session a line belongs to, on an app-server that several share. */
import type { Route } from "../../core/route.ts";
import type { RpcLine } from "../../core/rpc.ts";
import { answeredRequests } from "../../dialects/codex.ts";
import { type Shape, shapeOf, stringOf } from "../../dialects/shape.ts";
import { refusedRequests } from "./silent.ts";

/** The other requests are ours. */
const codexAsks: ReadonlySet<string> = new Set([...answeredRequests, ...Object.keys(refusedRequests)]);

export function route(line: RpcLine): Route {
  const { id, method, params, result } = line;
  if (method === undefined) return answerRoute({ id: String(id), result });
  const fields = shapeOf(params);
  const thread = textOf(fields.threadId) ?? textOf(fields.conversationId);
  const request = id === undefined || codexAsks.has(method) ? undefined : String(id);
  if (method === "thread/started") return { ...threadRoute(shapeOf(fields.thread)), request };
  if (thread === null) return { thread, request };
  // A recording that begins in the middle: its host knew whose thread it was.
  if (method === "thread/resume" || method === "turn/start") return { thread, request, root: true };
  if (method === "turn/started") return { thread, root: isRootTurn(shapeOf(fields.turn)) };
  const claims = method.startsWith("item/") ? claimsOf(shapeOf(fields.item)) : [];
  return { thread, request, claims };
}

/** The answer to `thread/start` and its kin names the thread that is now the asker's. */
function answerRoute({ id, result }: { id: string; result: unknown }): Route {
  const thread = shapeOf(shapeOf(result).thread);
  if (textOf(thread.id) === null) return { thread: null, request: id, answer: true };
  return { ...threadRoute(thread), request: id, answer: true };
}

function threadRoute({ id, parentThreadId }: Shape): Route {
  const parent = textOf(parentThreadId);
  return parent === null ? { thread: textOf(id), root: true } : { thread: textOf(id), parent };
}

/** A turn that is its own root belongs to nobody's agent. */
const isRootTurn = ({ id, rootTurnId }: Shape): boolean => typeof rootTurnId === "string" && rootTurnId === id;

/** An agent that was spawned announces nothing: only the call that spawned it names its thread. */
function claimsOf(item: Shape): string[] {
  const { type, receiverThreadIds, agentThreadId } = item;
  if (type === "subAgentActivity") return typeof agentThreadId === "string" ? [agentThreadId] : [];
  if (type !== "collabAgentToolCall" || !Array.isArray(receiverThreadIds)) return [];
  return receiverThreadIds.filter((thread) => typeof thread === "string");
}

const textOf = (value: unknown): string | null => stringOf(value) ?? null;

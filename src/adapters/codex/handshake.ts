/** From a fresh connection to a thread that takes prompts: initialize once per process, then start, resume or fork. */

import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import type { FolderFacts, LaunchOptions } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import { call, notify, type RpcFailure } from "../../core/rpc.ts";
import { isThreadResult, type ThreadResult } from "../../dialects/codex.ts";
import { mcpConfig, permissionMode, threadAccess } from "./launch.ts";
import { afterAnnouncement } from "./notices.ts";
import { isLive, reset, type State, threadOf } from "./state.ts";

export const REQUEST_TIMEOUT_MS = 60_000;

export function onConnected(state: State, input: Extract<AdapterInput<unknown>, { type: "connected" }>): Send[] {
  reset(state, input.at);
  state.options = input.options;
  const { resume, resume_at } = input.options;
  // Taken back: to an earlier turn, or to the beginning.
  if (resume === null || resume_at !== undefined) state.thread = null;
  state.rpc.prefix = `${input.options.session_id}:`;
  return input.first ? initialize(state, input.at) : openThread(state, input.at);
}

function initialize(state: State, at: number): Send[] {
  state.phase = "initializing";
  state.introduced = true;
  const params = {
    clientInfo: { name: "franca", title: "Franca", version: "0.1.0" },
    capabilities: { experimentalApi: true },
  };
  const context = { type: "initialize" } as const;
  const line = call(state.rpc, { method: "initialize", params, context, at, timeoutMs: REQUEST_TIMEOUT_MS });
  return [{ type: "send.line", line }];
}

export function onInitialized(state: State, at: number): Send[] {
  if (!isLive(state)) return [];
  return [{ type: "send.line", line: notify(state.rpc, { method: "initialized" }) }, ...openThread(state, at)];
}

/** Two sessions may open one process at the same moment: the second finds it initialized, or initializes it. */
export function onInitializeFailed(state: State, failure: RpcFailure, at: number): (Report | Send)[] {
  if (!isLive(state)) return refusedReport(failure);
  return /already initialized/i.test(failure.message) ? openThread(state, at) : onThreadFailed(state, failure, at);
}

export function openThread(state: State, at: number): Send[] {
  const { options } = state;
  if (options === null) return [];
  state.phase = "opening";
  const known = state.thread ?? options.resume;
  const { resume_at: lastTurnId } = options;
  // A thread goes back to an earlier turn as a fork through that turn.
  const forks = state.thread === null && (options.fork || lastTurnId !== undefined);
  const method = known === null ? "thread/start" : forks ? "thread/fork" : "thread/resume";
  const params = {
    ...threadSettings(options),
    ...(known === null
      ? {}
      : defined({ threadId: known, excludeTurns: true, lastTurnId: forks ? lastTurnId : undefined })),
  };
  const context = { type: "thread", resumed: known !== null } as const;
  const line = call(state.rpc, { method, params, context, at, timeoutMs: REQUEST_TIMEOUT_MS });
  return [{ type: "send.line", line }];
}

function threadSettings(options: LaunchOptions) {
  const { directory, model, variant, permission_mode, system_prompt, mcp, folder } = options;
  const config = defined({
    ...(folder === null ? {} : folderConfig(folder)),
    model_reasoning_effort: variant ?? undefined,
    mcp_servers: Object.keys(mcp).length > 0 ? mcpConfig(mcp) : undefined,
  });
  return defined({
    // With a link in the path Codex finds its own files under two names, and edits fail.
    cwd: folder?.path ?? directory,
    ...threadAccess(permission_mode),
    model: model ?? undefined,
    developerInstructions: system_prompt ?? undefined,
    config: Object.keys(config).length > 0 ? config : undefined,
  });
}

/**
 * Codex writes a folder down as trusted in the user's own configuration, unless it gets a trust level: so it always
 * gets one. In a folder that is not trusted it reads neither configuration nor rules, skills or instructions.
 */
function folderConfig({ path, gitRoot, trusted }: FolderFacts) {
  const level = { trust_level: trusted ? "trusted" : "untrusted" };
  const projects = gitRoot === null ? { [path]: level } : { [path]: level, [gitRoot]: level };
  return trusted ? { projects } : { projects, skills: { include_instructions: false }, project_doc_max_bytes: 0 };
}

/** The thread is there: it is announced, and takes what has waited for it. */
export function onThread(
  state: State,
  { result, resumed, at }: { result: unknown; resumed: boolean; at: number },
): (Report | Send)[] {
  if (!isThreadResult(result)) {
    const failure: RpcFailure = { kind: "remote", code: 0, message: "Codex gave no thread that we understand" };
    return onThreadFailed(state, failure, at);
  }
  state.thread = result.thread.id;
  const thread = threadOf(state, result.thread.id);
  if (resumed) thread.counted = null;
  if (isLive(state)) state.phase = "ready";
  return afterAnnouncement(state, announce(state, result));
}

function announce(state: State, result: ThreadResult): Report {
  const { thread } = result;
  const model = result.model ?? thread.model ?? null;
  state.model = model;
  const { name } = thread;
  return {
    type: "session",
    native_session_id: thread.id,
    metadata: {
      agent: "codex",
      agent_version: thread.cliVersion ?? null,
      model,
      directory: result.cwd ?? thread.cwd ?? null,
      permission_mode: state.options?.permission_mode ?? permissionMode(result),
      tools: [],
    },
    title: name ?? undefined,
  };
}

/** No thread, no turn: a turn that waits for one ends with the error. The next prompt tries again. */
export function onThreadFailed(state: State, failure: RpcFailure, at: number): (Report | Send)[] {
  if (!isLive(state)) return refusedReport(failure);
  if (/not initialized/i.test(failure.message) && !state.introduced) return initialize(state, at);
  state.phase = "none";
  const waited = state.waiting.length > 0;
  state.waiting = [];
  const error = { message: failure.message, code: codeOf(failure), details: { rpc_code: failure.code } };
  // Without a prompt that waited for the thread, this is an error outside of a turn.
  if (!waited) return afterAnnouncement(state, { type: "error", ...error, fatal: false });
  const { early } = state;
  state.early = [];
  return [...early, { type: "end", reason: "error", error }];
}

/** A request that Codex refused outside of any turn. */
export const refusedReport = (failure: RpcFailure): Report[] =>
  failure.kind === "closed"
    ? []
    : [
        {
          type: "error",
          message: failure.message,
          code: codeOf(failure),
          details: { rpc_code: failure.code },
          fatal: false,
        },
      ];

export const codeOf = ({ kind, message }: RpcFailure): string => {
  if (kind === "timeout") return "timeout";
  // Another process of Codex, of ours or of anybody's, has the conversation open.
  if (/already has an active writer/i.test(message)) return "native_session_in_use";
  return /no rollout found|thread not found/i.test(message) ? "native_session_not_found" : "request_refused";
};

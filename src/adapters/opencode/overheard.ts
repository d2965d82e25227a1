/** Requests in a recording: what its client asked of OpenCode tells where turns begin and which idle is an abort's. */
import type { Report } from "../../core/report.ts";
import type { OpenCodeRequestLine } from "../../dialects/opencode-stream.ts";
import { startTurn } from "./encode.ts";
import type { Asked, State } from "./state.ts";
import { endAborted } from "./turns.ts";

export function onRequestSeen(state: State, { id, method, path }: OpenCodeRequestLine["request"]): Report[] {
  const about = aboutOf({ method, path });
  const session = /^\/session\/(ses_[^/?]+)\//.exec(path)?.[1];
  if (session !== undefined && state.root === null) state.root = session;
  if (session !== undefined && session !== state.root) return [];
  state.asked.set(id, about);
  if (about === "abort") {
    state.abort = "sent";
    state.abortIdles = 0;
    return [];
  }
  if (about !== "prompt") return [];
  // A client that does not wait for the answer to its abort: the idle it has seen was the end.
  const ended = state.abortIdles > 0 ? endAborted(state) : [];
  if (state.prompted) return ended;
  return [...ended, ...startTurn(state), { type: "begin", origin: "user" }];
}

function aboutOf({ method, path }: { method: string; path: string }): Asked {
  if (method !== "POST") return "other";
  if (/^\/session(\?|$)/.test(path)) return "create";
  if (/^\/session\/[^/]+\/abort/.test(path)) return "abort";
  return /^\/session\/[^/]+\/(prompt_async|message|command|shell|summarize)/.test(path) ? "prompt" : "other";
}

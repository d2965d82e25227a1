/**
 * Requests in a recording: what its client asked of OpenCode shows where turns begin and which idle is an abort's. A
 * recording of Franca's own sessions is read like the session was, because our requests' ids say what they are about.
 */
import type { Report } from "../../core/report.ts";
import type { OpenCodeRequestLine } from "../../dialects/opencode-stream.ts";
import { placeIn } from "./asks.ts";
import { beginReread } from "./connect.ts";
import { startTurn } from "./encode.ts";
import { type Asked, isAsked, type State } from "./state.ts";
import { endAborted } from "./turns.ts";

export function onRequestSeen(state: State, request: OpenCodeRequestLine["request"]): Report[] {
  const about = aboutOf(request);
  const session = /^\/session\/(ses_[^/?]+)/.exec(request.path)?.[1];
  if (session !== undefined && state.root === null && about !== "create") state.root = session;
  if (session !== undefined && session !== state.root) return [];
  state.asked.set(request.id, about);
  const place = about === "removal" ? placeIn(request) : null;
  if (place !== null) state.removals.set(request.id, place);
  switch (about) {
    case "abort":
      state.abort = "sent";
      state.abortIdles = 0;
      return [];
    case "messages":
      beginReread(state);
      return [];
    case "prompt":
    case "work":
      return onPromptSeen(state);
    default:
      return [];
  }
}

function onPromptSeen(state: State): Report[] {
  // A client that does not wait for the answer to its abort: the idle it has seen was the end.
  const ended = state.abortIdles > 0 ? endAborted(state) : [];
  if (state.prompted) return ended;
  return [...ended, ...startTurn(state), { type: "begin", origin: "user" }];
}

function aboutOf(request: OpenCodeRequestLine["request"]): Asked {
  const { id, method, path } = request;
  const ours = /^([a-z]+)-\d+$/.exec(id)?.[1];
  if (ours !== undefined && isAsked(ours)) return ours;
  if (placeIn(request) !== null) return "removal";
  const [, word = ""] = /^\/session\/[^/]+\/(revert|unrevert|share)(?:\?|$)/.exec(path) ?? [];
  if (method === "DELETE") return word === "share" ? "unshare" : "other";
  if (method !== "POST") return "other";
  if (isAsked(word)) return word;
  if (isNote(request.body) && /^\/session\/[^/]+\/message/.test(path)) return "note";
  if (/^\/session(\?|$)/.test(path)) return "create";
  if (/^\/session\/[^/]+\/abort/.test(path)) return "abort";
  if (/^\/session\/[^/]+\/(shell|summarize)/.test(path)) return "work";
  return /^\/session\/[^/]+\/(prompt_async|message|command)/.test(path) ? "prompt" : "other";
}

const isNote = (body: unknown): boolean =>
  typeof body === "object" && body !== null && "noReply" in body && body.noReply === true;

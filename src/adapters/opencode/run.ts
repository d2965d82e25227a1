/**
 * `opencode run --format json`, for `convert` only. It has whole parts and neither permissions nor retries nor an
 * end: a model step that finishes without calling tools is the last one.
 */
import { defineAdapter } from "../../core/adapter.ts";
import type { AdapterInput, Exit, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import type { OpenCodeStepFinishPart, OpenCodeToolPart } from "../../dialects/opencode.ts";
import {
  isOpenCodeRunLine,
  looksLikeOpenCodeRun,
  type OpenCodeRunFinish,
  type OpenCodeRunLine,
  type OpenCodeRunTool,
} from "../../dialects/opencode-run.ts";
import { capabilities } from "./capabilities.ts";
import { onPart } from "./events.ts";
import { addMessage } from "./parts.ts";
import { messageOf, type State, startState, threadOf } from "./state.ts";
import { endTurn, onError } from "./turns.ts";

interface RunState {
  readonly session: State;
  made: number;
  /** The message of lines that name none: one for each step of the model. */
  message: string | null;
  /** Tools at work whose lines had no id, by name. */
  readonly tools: Map<string, string>;
  /** The model's last step did not say why it ended: a clean exit says that the turn is complete. */
  unexplained: boolean;
}

const adapter: Fold<AdapterInput<OpenCodeRunLine>, Report | Send, RunState> = {
  start: () => ({ session: startState(), made: 0, message: null, tools: new Map(), unexplained: false }),
  step(state, input) {
    if (input.type === "line" && input.from === "agent") return onLine(state, input);
    return input.type === "disconnected" ? onExit(state, input.exit) : [];
  },
};

/** A run whose permission was rejected ends with the call, without another line (the exit code is 0 then). */
function onExit({ session, unexplained }: RunState, { code, signal }: Exit): Report[] {
  if (session.root === null) return [];
  const thread = threadOf(session, session.root);
  const clean = code === 0 || (code === null && signal === null);
  return (code === 0 && thread.rejected) || (clean && unexplained) ? [endTurn(session, thread)] : [];
}

function onLine(state: RunState, { line, at }: { line: OpenCodeRunLine; at: number }): (Report | Send)[] {
  const { session } = state;
  const out: (Report | Send)[] = nameSession(state, line.sessionID);
  const root = session.root ?? "";
  const thread = threadOf(session, root);
  state.unexplained = false;
  switch (line.type) {
    case "error":
      // A run that fails before its first step has begun all the same.
      out.push({ type: "begin", origin: "user" }, ...onError(session, { thread, error: line.error }));
      return [...out, endTurn(session, thread)];
    case "step_start":
      thread.error = null;
      thread.rejected = false;
      state.message = null;
      return [...out, { type: "begin", origin: "user" }];
    case "step_finish": {
      const part = finishPart(state, { part: line.part ?? {}, root });
      out.push(...onPart(session, { part, at }));
      thread.latest = { id: part.messageID, finish: part.reason, completed: true };
      state.unexplained = line.part?.reason === undefined;
      return state.unexplained || part.reason === "tool-calls" ? out : [...out, endTurn(session, thread)];
    }
    case "text":
    case "reasoning": {
      const { text, time } = line.part;
      const words = { ...placeOf(state, { part: line.part, root }), text, time: { start: at, end: at, ...time } };
      return [...out, ...onPart(session, { part: { type: line.type, ...words }, at })];
    }
    case "tool_use":
      return [...out, ...onPart(session, { part: toolPart(state, { part: line.part, root }), at })];
    default:
      return unreachable(line);
  }
}

/** The first line that names the session does so for all. */
function nameSession({ session }: RunState, native_session_id: string | undefined): Report[] {
  // The prompt was an argument of the command: the stream does not have it.
  session.prompted = true;
  const metadata = { agent: "opencode" };
  if (session.root === null) {
    session.root = native_session_id ?? UNNAMED;
    return [{ type: "session", native_session_id, metadata }];
  }
  return native_session_id === undefined ? [] : [{ type: "session", native_session_id }];
}

const UNNAMED = "run";

function makeId(state: RunState, name: string): string {
  state.made += 1;
  const id = `${name}/${state.made}`;
  state.session.made.add(id);
  return id;
}

interface Place {
  readonly part: { readonly id?: string; readonly messageID?: string };
  readonly root: string;
}

function placeOf(state: RunState, { part, root }: Place) {
  if (part.messageID === undefined) state.message ??= makeId(state, "message");
  const messageID = part.messageID ?? state.message ?? "";
  // No line announces a message here: its first part does.
  if (messageOf(state.session, messageID) === undefined) {
    addMessage(state.session, { messageID, sessionID: root, role: "assistant" });
  }
  return { id: part.id ?? makeId(state, "part"), messageID, sessionID: root };
}

function finishPart(
  state: RunState,
  { part, root }: { part: OpenCodeRunFinish; root: string },
): OpenCodeStepFinishPart {
  const { tokens = {}, cost = 0, reason = "" } = part;
  const { input = 0, output = 0, reasoning = 0, cache = {} } = tokens;
  const counts = { input, output, reasoning, cache: { read: cache.read ?? 0, write: cache.write ?? 0 } };
  return { ...placeOf(state, { part, root }), type: "step-finish", reason, cost, tokens: counts };
}

/** A tool without an id goes on as the one of its name that is at work. */
function toolPart(state: RunState, { part, root }: { part: OpenCodeRunTool; root: string }): OpenCodeToolPart {
  const { tool } = part;
  const { status, input = {}, output = "", error = "", title, metadata } = part.state;
  const known = state.tools.get(tool);
  const place = placeOf(state, { part: known === undefined ? part : { id: known, ...part }, root });
  if (status === "pending" || status === "running") state.tools.set(tool, place.id);
  else state.tools.delete(tool);
  const more = defined({ title, metadata });
  const head = { ...place, type: "tool" as const, tool, callID: part.callID ?? place.id };
  if (status === "completed") return { ...head, state: { status, input, output, ...more } };
  if (status === "error") return { ...head, state: { status, input, error, ...defined({ metadata }) } };
  return { ...head, state: status === "pending" ? { status, input } : { status, input, ...more } };
}

export const opencodeRun = defineAdapter({
  agent: "opencode-run",
  name: "OpenCode, one run",
  isNative: isOpenCodeRunLine,
  recognises: looksLikeOpenCodeRun,
  adapter,
  resumeCommand: (id) => `opencode --session ${id}`,
  offline: true,
  formOf: "opencode",
  launch: () => ({
    kind: "refused",
    code: "not_supported",
    message: "opencode-run is a format for convert; to run OpenCode, use the agent opencode.",
  }),
  capabilities: {
    ...capabilities,
    permissions: false,
    questions: false,
    deltas: false,
    todos: false,
    subagents: false,
    // Nobody prompts through this format, so nobody waits for an echo.
    echoesPrompts: false,
  },
});

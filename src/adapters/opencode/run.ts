/**
 * `opencode run --format json`, for `convert` only. It tells whole parts and neither permissions nor retries nor an
 * end:
 * a model step that finishes without calling tools is the last one.
 */
import { defineAdapter } from "../../core/adapter.ts";
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import type { Fold } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { isOpenCodeRunLine, looksLikeOpenCodeRun, type OpenCodeRunLine } from "../../dialects/opencode-run.ts";
import { isShape } from "../../dialects/shape.ts";
import { capabilities } from "./capabilities.ts";
import { onPart } from "./events.ts";
import { type State, startState, threadOf } from "./state.ts";
import { endTurn, onError } from "./turns.ts";

const adapter: Fold<AdapterInput<OpenCodeRunLine>, Report | Send, State> = {
  start: startState,
  step(state, input) {
    if (input.type === "line" && input.from === "agent") return onLine(state, input);
    // A run that was told no ends with the call, and says nothing more (the exit code is 0 then).
    if (input.type === "disconnected" && input.exit.code === 0 && state.root !== null) {
      const thread = threadOf(state, state.root);
      return thread.rejected ? [endTurn(state, thread)] : [];
    }
    return [];
  },
};

function onLine(state: State, { line, at }: { line: OpenCodeRunLine; at: number }): (Report | Send)[] {
  const out: (Report | Send)[] = [];
  if (state.root === null) {
    state.root = line.sessionID;
    // The prompt was an argument of the command: the stream does not have it.
    state.prompted = true;
    out.push({ type: "session", native_session_id: line.sessionID, metadata: { agent: "opencode-run" } });
  }
  const thread = threadOf(state, line.sessionID);
  switch (line.type) {
    case "error":
      return [...out, ...onError(state, { thread, error: line.error }), { ...endTurn(state, thread), says: true }];
    case "step_start":
      thread.error = null;
      thread.rejected = false;
      return [...out, { type: "begin", origin: "user" }];
    case "step_finish": {
      const { reason, messageID } = line.part;
      out.push(...onPart(state, { part: line.part, at }));
      thread.latest = { id: messageID, finish: reason, completed: true };
      return reason === "tool-calls" ? out : [...out, endTurn(state, thread)];
    }
    case "text":
    case "reasoning":
    case "tool_use":
      return [...out, ...onPart(state, { part: line.part, at })];
  }
}

export const opencodeRun = defineAdapter({
  agent: "opencode-run",
  name: "OpenCode, one run",
  isNative: isOpenCodeRunLine,
  recognises: (value) => isShape(value) && looksLikeOpenCodeRun(value),
  adapter,
  resumeCommand: (id) => `opencode --session ${id}`,
  offline: true,
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

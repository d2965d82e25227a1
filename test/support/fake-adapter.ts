/** The adapter of test/support/fake-agent.js, so that tests of the runtime have a real process to drive. */
import { fileURLToPath } from "node:url";
import { defineAdapter } from "../../src/core/adapter.ts";
import type { Send } from "../../src/core/agent-io.ts";
import type { Capabilities } from "../../src/core/capabilities.ts";
import type { Launch, LaunchOptions } from "../../src/core/launch.ts";
import type { Report } from "../../src/core/report.ts";

type Line =
  | { type: "hello"; session: string }
  | { type: "text"; id: string; delta: string }
  | { type: "done"; id: string }
  | { type: "ask"; id: string }
  | { type: "pids"; pids: number[] }
  | { type: "end"; reason: "completed" }
  | { type: "prompt"; text: string }
  | { type: "answer"; reply: string };

const types = new Set(["hello", "text", "done", "ask", "pids", "end", "prompt", "answer"]);

const isLine = (value: unknown): value is Line =>
  typeof value === "object" && value !== null && "type" in value && types.has(String(value.type));

const capabilities: Capabilities = {
  permissions: true,
  questions: false,
  steer: false,
  resume: true,
  fork: true,
  compact: false,
  shell: false,
  images: false,
  mcp: false,
  systemPrompt: false,
  deltas: true,
  todos: false,
  subagents: false,
  reasoning: false,
  cost: false,
  echoesPrompts: false,
  permissionModes: ["default"],
  set: [],
};

const agent = fileURLToPath(new URL("./fake-agent.js", import.meta.url));

/** Bundled into an owner of its own, this file lies elsewhere: then the agent's place is told by the environment. */
const launch = ({ resume }: LaunchOptions): Launch => ({
  kind: "process",
  command: process.execPath,
  args: [process.env.FAKE_AGENT ?? agent, ...(resume === null ? [] : [resume])],
  lifetime: "session",
});

export const fake = defineAdapter<Line, null>({
  agent: "fake",
  name: "Fake",
  isNative: isLine,
  recognises: () => false,
  capabilities,
  launch,
  adapter: {
    start: () => null,
    step(_state, input): (Report | Send)[] {
      if (input.type === "line") return input.from === "agent" ? heard(input.line) : [];
      if (input.type !== "command") return [];
      const { command } = input;
      if (command.type === "prompt")
        return [{ type: "send.line", line: { type: "prompt", text: command.prompt.text } }];
      if (command.type === "abort") return [{ type: "send.signal", signal: "interrupt" }];
      if (command.type !== "permission.reply") return [];
      return [{ type: "send.line", line: { type: "answer", reply: command.reply } }];
    },
  },
});

const block = (key: string) => ({
  key,
  native_item_id: null,
  kind: "message" as const,
  role: "assistant" as const,
  content: [{ type: "text" as const, text: "" }],
});

function heard(line: Line): Report[] {
  switch (line.type) {
    case "hello":
      return [{ type: "session", native_session_id: line.session, metadata: { agent: "fake" } }];
    case "text":
      return [
        { type: "open", item: block(line.id) },
        { type: "delta", key: line.id, part: "text", delta: line.delta },
      ];
    case "done":
      return [{ type: "close", key: line.id, status: "completed" }];
    case "ask":
      return [
        {
          type: "permission",
          key: line.id,
          action: "bash",
          tool: "bash",
          call_id: null,
          input: {},
          requested: { kind: "command", command: "ls" },
        },
      ];
    case "pids":
      return [{ type: "error", message: line.pids.join(" "), code: "pids", fatal: false }];
    case "end":
      return [{ type: "end", reason: line.reason }];
    default:
      return [];
  }
}

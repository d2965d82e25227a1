/** The adapter of test/support/fake-server.js: one server for all, lines told apart by the session they name. */
import { fileURLToPath } from "node:url";
import { defineAdapter } from "../../src/core/adapter.ts";
import type { AdapterInput, Send } from "../../src/core/agent-io.ts";
import type { Report } from "../../src/core/report.ts";
import { fake } from "./fake-adapter.ts";

interface Line {
  readonly type: "text" | "done" | "end";
  readonly session: string;
  readonly id?: string;
  readonly delta?: string;
  readonly reason?: "completed" | "aborted";
}

const isLine = (value: unknown): value is Line =>
  typeof value === "object" && value !== null && "session" in value && typeof value.session === "string";

interface State {
  native: string | null;
  waiting: string[];
}

const server = fileURLToPath(new URL("./fake-server.js", import.meta.url));
const post = (path: string, body: object, vital = false): Send => ({
  type: "send.request",
  id: path,
  method: "POST",
  path,
  body,
  vital,
});

export const served = defineAdapter<Line, State>({
  agent: "served",
  name: "Served",
  isNative: isLine,
  recognises: () => false,
  capabilities: fake.capabilities,
  route: (line) => ({ thread: line.session }),
  launch: ({ env: { FAKE_PASSWORD: password } }) => ({
    kind: "http",
    command: process.execPath,
    args: [server],
    ready: "listening on (http://\\S+)",
    events: "/events",
    shared: "one",
    ...(password === undefined ? {} : { login: { user: "me", password } }),
  }),
  adapter: { start: () => ({ native: null, waiting: [] }), step },
});

function step(state: State, input: AdapterInput<Line>): (Report | Send)[] {
  switch (input.type) {
    case "connected": {
      const { model, resume } = input.options;
      state.native = null;
      return [post("/session", { refuse: model === "refuse", ...(resume === null ? {} : { resume }) }, true)];
    }
    case "response": {
      if (input.id !== "/session" || input.status !== 200) return [];
      const { body } = input;
      if (typeof body !== "object" || body === null || !("id" in body) || typeof body.id !== "string") return [];
      const session = body.id;
      state.native = session;
      const sends = state.waiting.splice(0).map((text) => post("/prompt", { session, text }));
      return [{ type: "session", native_session_id: session }, ...sends];
    }
    case "command": {
      const { command } = input;
      if (command.type === "abort") return [post("/abort", { session: state.native })];
      if (command.type !== "prompt") return [];
      if (state.native !== null) return [post("/prompt", { session: state.native, text: command.prompt.text })];
      state.waiting.push(command.prompt.text);
      return [];
    }
    case "line":
      return heard(input.line);
    default:
      return [];
  }
}

function heard({ type, id = "", delta = "", reason = "completed" }: Line): Report[] {
  if (id.endsWith("/greeting")) return [];
  if (type === "end") return [{ type: "end", reason }];
  if (type === "done") return [{ type: "close", key: id, status: "completed" }];
  const item = { key: id, native_item_id: null, kind: "message" as const, role: "assistant" as const, content: [] };
  return [
    { type: "open", item },
    { type: "delta", key: id, part: "text", delta },
  ];
}

/**
 * A scripted ACP agent on stdio. The prompt's text is a program: one instruction a line, run in order, then `end_turn`.
 *   say TEXT · think TEXT · tool ID KIND TITLE · ask ID · edit PATH NEW · approve COMMAND · write PATH CONTENT
 *   read PATH · terminal COMMAND · question · plan · stop REASON · error CODE MESSAGE · late TEXT · hang · die
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const store = process.env.FAKE_ACP_STORE;
let asked = 0;
const waiting = new Map();
let cancel = () => {};
const send = (line) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`);
const update = (sessionId, one) => send({ method: "session/update", params: { sessionId, update: one } });
const chunk = (text) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const request = (method, params) =>
  new Promise((resolve) => {
    const id = asked++;
    waiting.set(id, resolve);
    send({ id, method, params });
  });

const options = [
  { optionId: "a", name: "Always, for this session", kind: "allow_always" },
  { optionId: "y", name: "Yes", kind: "allow_once" },
  { optionId: "n", name: "No", kind: "reject_once" },
];

const permission = (sessionId, toolCall) =>
  request("session/request_permission", { sessionId, toolCall, options }).then(
    ({ result }) => result?.outcome?.optionId ?? "cancelled",
  );

const steps = {
  say: async (s, text) => update(s, chunk(text)),
  think: async (s, text) => update(s, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
  async edit(s, rest) {
    const [path, newText] = rest.split(" ");
    const toolCall = {
      toolCallId: `edit-${asked}`,
      title: `Edit ${path}`,
      kind: "edit",
      status: "pending",
      rawInput: { path },
      content: [{ type: "diff", path, oldText: null, newText }],
      locations: [{ path }],
    };
    update(s, { sessionUpdate: "tool_call", ...toolCall });
    const chosen = await permission(s, toolCall);
    const allowed = chosen === "y" || chosen === "a";
    const answer = allowed ? await request("fs/write_text_file", { sessionId: s, path, content: newText }) : null;
    const failed = !allowed || answer.error !== undefined;
    const text = answer?.error?.message ?? chosen;
    const content = [{ type: "content", content: { type: "text", text } }];
    update(s, {
      sessionUpdate: "tool_call_update",
      toolCallId: toolCall.toolCallId,
      status: failed ? "failed" : "completed",
      content,
    });
  },
  async approve(s, command) {
    const toolCallId = `ask-${asked}`;
    await permission(s, { toolCallId, title: command, kind: "execute", rawInput: { command } });
    update(s, { sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  },
  async write(s, rest) {
    const [path, content] = rest.split(" ");
    const { error } = await request("fs/write_text_file", { sessionId: s, path, content });
    update(s, chunk(error === undefined ? "written" : `refused: ${error.message}`));
  },
  async read(s, path) {
    const { result, error } = await request("fs/read_text_file", { sessionId: s, path });
    update(s, chunk(error === undefined ? `read: ${result.content}` : `refused: ${error.message}`));
  },
  async terminal(s, command) {
    const [line, cwd] = command.split(" @@ ");
    const toolCallId = `run-${asked}`;
    update(s, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: line,
      kind: "execute",
      status: "in_progress",
      rawInput: { command: line },
    });
    const made = await request("terminal/create", { sessionId: s, command: line, ...(cwd ? { cwd } : {}) });
    if (made.error !== undefined) {
      update(s, { sessionUpdate: "tool_call_update", toolCallId, status: "failed", rawOutput: made.error.message });
      return;
    }
    const { terminalId } = made.result;
    const content = [{ type: "terminal", terminalId }];
    update(s, { sessionUpdate: "tool_call_update", toolCallId, content });
    await request("terminal/wait_for_exit", { sessionId: s, terminalId });
    await request("terminal/output", { sessionId: s, terminalId });
    await request("terminal/release", { sessionId: s, terminalId });
    // As some agents do: a command that failed is called completed.
    update(s, { sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
  },
  async question(s) {
    const requestedSchema = {
      type: "object",
      properties: { colour: { type: "string", title: "Colour", enum: ["Red", "Blue"] } },
    };
    const { result } = await request("elicitation/create", {
      mode: "form",
      sessionId: s,
      message: "Which?",
      requestedSchema,
    });
    update(s, chunk(`${result.action} ${result.content?.colour ?? ""}`));
  },
  plan: async (s) =>
    update(s, { sessionUpdate: "plan", entries: [{ content: "One", priority: "medium", status: "pending" }] }),
  hang: () =>
    new Promise((resolve) => {
      cancel = resolve;
    }),
  die: async () => process.exit(3),
};

async function play(sessionId, text) {
  let cancelled = false;
  const stopped = new Promise((resolve) => {
    cancel = () => {
      cancelled = true;
      resolve();
    };
  });
  for (const line of text.split("\n")) {
    const [word, ...rest] = line.split(" ");
    if (word === "stop") return { result: { stopReason: rest[0] } };
    if (word === "error") return { error: { code: Number(rest[0]), message: rest.slice(1).join(" ") } };
    if (word === "late") {
      setTimeout(() => update(sessionId, chunk(rest.join(" "))), 20);
      continue;
    }
    if (word === "hang") await stopped;
    else await Promise.race([steps[word]?.(sessionId, rest.join(" ")), stopped]);
    if (cancelled) return { result: { stopReason: "cancelled" } };
  }
  return { result: { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 } } };
}

let version = 1;

/** The draft of version 2: the answer only says that the prompt was taken. */
async function play2(sessionId, text) {
  const state = (state, more) => update(sessionId, { sessionUpdate: "state_update", state, ...more });
  state("running");
  const { result, error } = await play(sessionId, text);
  state("idle", error === undefined ? result : { stopReason: "error", error });
  update(sessionId, { sessionUpdate: "session_info_update", title: "Fake" });
}

const commands = [
  { name: "compact", description: "Compacts\nthe past", input: { hint: "what to keep" } },
  { name: "" },
];

const handlers = {
  initialize: async ({ protocolVersion }) => {
    version = Math.min(protocolVersion, Number(process.env.FAKE_ACP_VERSION ?? 1));
    return version === 2 ? hello2 : hello;
  },
  "session/new": async () =>
    process.env.FAKE_ACP_AUTH === "none"
      ? { error: { code: -32000, message: "Authentication required" } }
      : newSession(),
  async "session/load"({ sessionId }) {
    const past =
      store !== undefined && existsSync(store) ? readFileSync(store, "utf8").split("\n").filter(Boolean) : [];
    for (const text of past) {
      update(sessionId, { sessionUpdate: "user_message_chunk", content: { type: "text", text } });
      update(sessionId, chunk(`replayed ${text}`));
    }
    return { result: {} };
  },
  "session/resume": async () => ({ result: {} }),
  async "session/prompt"({ sessionId, prompt }) {
    const text = prompt.map((block) => (block.type === "text" ? block.text : `say [${block.type}]`)).join("\n");
    if (store !== undefined) appendFileSync(store, `${text.split("\n")[0]}\n`);
    if (version === 1) return play(sessionId, text);
    setImmediate(() => play2(sessionId, text));
    return { result: { messageId: "taken" } };
  },
};

function newSession() {
  const sessionId = `fake-${process.pid}`;
  // As some agents do: before anybody knows the session's id.
  update(sessionId, { sessionUpdate: "available_commands_update", availableCommands: commands });
  const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] };
  return { result: version === 2 ? { sessionId } : { sessionId, modes } };
}

const hello2 = {
  result: {
    protocolVersion: 2,
    info: { name: "fake", version: "2.0.0" },
    capabilities: { session: { prompt: {}, fork: {} } },
  },
};
const hello = {
  result: {
    protocolVersion: 1,
    agentInfo: { name: "fake", version: "1.0.0" },
    agentCapabilities: { loadSession: true, promptCapabilities: { image: true }, sessionCapabilities: {} },
    authMethods: [{ id: "login", name: "Log in", description: "Run `fake login` in a terminal" }],
  },
};

if (process.env.FAKE_ACP_SILENT !== undefined) setInterval(() => {}, 1000);
else
  createInterface({ input: process.stdin })
    .on("line", async (text) => {
      const { id, method, params, result, error } = JSON.parse(text);
      if (method === undefined) {
        waiting.get(id)?.({ result, error });
        waiting.delete(id);
      } else if (method === "session/cancel") cancel();
      else if (id !== undefined) {
        const handler = handlers[method];
        send({ id, ...(handler ? await handler(params) : { error: { code: -32601, message: `No ${method}` } }) });
      }
    })
    .on("close", () => process.exit(0));
if (process.env.FAKE_ACP_PIDS !== undefined) writeFileSync(process.env.FAKE_ACP_PIDS, String(process.pid));

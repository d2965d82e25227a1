/**
 * Fake agents on standard output, the same for everyone who is measured. They speak as Claude Code, as Codex and as an
 * agent of the Agent Client Protocol do, in lines as large as the real ones, and say as many deltas as they are asked
 * for, each with its index, as fast as they are taken.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";

export const LANGUAGES = ["claude", "codex", "acp"] as const;
export type Language = (typeof LANGUAGES)[number];

export async function playAgent(language: Language): Promise<void> {
  if (process.argv.includes("--version")) return console.log(VERSIONS[language]);
  await SPEAKERS[language]();
}

const claudeVersion = "2.1.325";
const VERSIONS = { claude: `${claudeVersion} (Claude Code)`, codex: "codex-cli 0.166.0", acp: "1.0.0" } as const;

const SPEAKERS = { claude: speakClaude, codex: speakCodex, acp: speakAcp } as const;

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
}

/** The text of each delta: its index, or the time by the clock that all processes share, one each millisecond. */
async function* deltas(asked: string): AsyncGenerator<string> {
  const [, how, count = "1"] = /(flood|pace) (\d+)/.exec(asked) ?? [];
  for (let index = 1; index <= Number(count); index += 1) {
    if (how === "pace") await new Promise((resolve) => setTimeout(resolve, 1));
    yield how === "pace" ? `@${process.hrtime.bigint()}@ ` : `#${index} `;
  }
}

function say(line: object): Promise<unknown> | undefined {
  return process.stdout.write(`${JSON.stringify(line)}\n`) ? undefined : once(process.stdout, "drain");
}

const session_id = "5f0c7b1e-3a52-4c55-9d0e-0f3a6a1f9b11";
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

async function speakClaude(): Promise<void> {
  const model = "fake-1";
  const init = { cwd: process.cwd(), tools: [], model, permissionMode: "default", claude_code_version: claudeVersion };
  await say({ type: "system", subtype: "init", session_id, ...init, uuid: randomUUID() });
  let turn = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    if (!line.includes('"type":"user"')) continue;
    turn += 1;
    await claudeTurn({ asked: line, id: `msg_${turn}`, model });
  }
}

async function claudeTurn({ asked, id, model }: { asked: string; id: string; model: string }): Promise<void> {
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  const stream = (event: object) =>
    say({ type: "stream_event", event, session_id, parent_tool_use_id: null, uuid: randomUUID() });
  await claudeCalls(asked, { id, model });
  await stream({ type: "message_start", message });
  await stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  let all = "";
  for await (const text of deltas(asked)) {
    all += text;
    const full = stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    if (full !== undefined) await full;
  }
  const whole = { ...message, content: [{ type: "text", text: all }] };
  await say({ type: "assistant", message: whole, parent_tool_use_id: null, session_id, uuid: randomUUID() });
  await stream({ type: "content_block_stop", index: 0 });
  await stream({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage });
  await stream({ type: "message_stop" });
  const result = { subtype: "success", is_error: false, result: "", stop_reason: "end_turn", total_cost_usd: 0, usage };
  await say({ type: "result", ...result, session_id, uuid: randomUUID() });
}

/** Emits the requested number of tool calls: starts all of them, then completes all of them. */
async function claudeCalls(asked: string, { id, model }: { id: string; model: string }): Promise<void> {
  const count = Number(/calls (\d+)/.exec(asked)?.[1] ?? 0);
  const about = { parent_tool_use_id: null, session_id };
  for (let index = 1; index <= count; index += 1) {
    const content = [{ type: "tool_use", id: `toolu_${id}_${index}`, name: "Bash", input: { command: "ls" } }];
    const message = {
      id: `${id}_${index}`,
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: null,
      usage,
    };
    await say({ type: "assistant", message, ...about, uuid: randomUUID() });
  }
  for (let index = 1; index <= count; index += 1) {
    const content = [{ type: "tool_result", tool_use_id: `toolu_${id}_${index}`, content: "a", is_error: false }];
    await say({ type: "user", message: { role: "user", content }, ...about, uuid: randomUUID() });
  }
}

const threadId = "01a1e10d-c166-7020-8148-5ee5f67e3b4e";
const turnId = "01a1e10d-c191-7983-9bbf-47bc72a85cb8";

async function speakCodex(): Promise<void> {
  let turns = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method }: Request = JSON.parse(line);
    if (method === "initialize")
      await say({ id, result: { userAgent: "fake/0.166.0", codexHome: "/", platformOs: "linux" } });
    else if (method === "thread/start") await say({ id, result: { thread: codexThread(), model: "fake-1", cwd: "/" } });
    else if (method === "turn/start") {
      turns += 1;
      await say({ id, result: { turn: codexTurn(turns, "inProgress") } });
      await codexFlood({ asked: line, turn: turns });
    } else if (id !== undefined && method !== undefined) await say({ id, result: {} });
  }
}

const codexThread = () => ({
  id: threadId,
  sessionId: threadId,
  preview: "",
  turns: [],
  cwd: "/",
  status: { type: "idle" },
});

const codexTurn = (turn: number, status: string) => ({ id: `${turnId}-${turn}`, items: [], status, error: null });

async function codexFlood({ asked, turn }: { asked: string; turn: number }): Promise<void> {
  const notify = (method: string, params: object) => say({ method, params, emittedAtMs: Date.now() });
  const place = { threadId, turnId: `${turnId}-${turn}` };
  const item = { type: "agentMessage", id: `msg_${turn}`, text: "", phase: null };
  await notify("turn/started", { threadId, turn: codexTurn(turn, "inProgress") });
  await notify("item/started", { item, ...place, startedAtMs: Date.now() });
  let all = "";
  for await (const delta of deltas(asked)) {
    all += delta;
    const full = notify("item/agentMessage/delta", { ...place, itemId: item.id, delta });
    if (full !== undefined) await full;
  }
  await notify("item/completed", { item: { ...item, text: all }, ...place, completedAtMs: Date.now() });
  await notify("turn/completed", { threadId, turn: codexTurn(turn, "completed") });
}

/** For peers that drive agents by this protocol. */
async function speakAcp(): Promise<void> {
  const answer = (id: number | undefined, result: object) => say({ jsonrpc: "2.0", id, result });
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method }: Request = JSON.parse(line);
    if (method === "initialize") await answer(id, { protocolVersion: 1, agentCapabilities: {}, authMethods: [] });
    else if (method === "session/new") await answer(id, { sessionId: session_id });
    else if (method === "session/prompt") {
      for await (const text of deltas(line)) {
        const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
        const full = say({ jsonrpc: "2.0", method: "session/update", params: { sessionId: session_id, update } });
        if (full !== undefined) await full;
      }
      await answer(id, { stopReason: "end_turn" });
    } else if (id !== undefined && method !== undefined) await answer(id, {});
  }
}

/** A Codex adapter in a live session, as the session fold drives it, with Codex's side played by the test. */
import { codex } from "../../src/adapters/codex/index.ts";
import type { AdapterInput, AgentCommand, Send } from "../../src/core/agent-io.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import type { Report } from "../../src/core/report.ts";
import { isRpcLine, type RpcLine } from "../../src/core/rpc.ts";
import { promptId } from "../../src/protocol/ids.ts";
import { plainOptions } from "./launch-options.ts";

export const options: LaunchOptions = { ...plainOptions, session_id: "s1" };

export const THREAD = "thread-1";
export const threadResult = { thread: { id: THREAD, cliVersion: "0.166.0", cwd: "/workspace" }, model: "gpt-5.5" };
export const prompt = (text: string): AgentCommand => ({
  type: "prompt",
  prompt: { prompt_id: promptId(text), text, attachments: [] },
});

export function live(asked: Partial<LaunchOptions> = {}, { first = true }: { first?: boolean } = {}) {
  const running = codex.open();
  const reports: Report[] = [];
  const sends: RpcLine[] = [];
  let at = 0;
  const step = (input: Record<string, unknown> & { type: AdapterInput<unknown>["type"] }, later = 1): void => {
    at += later;
    // The inputs of these tests are complete but for their time.
    for (const one of running.step({ ...input, at } as AdapterInput<unknown>)) {
      if (isSend(one)) {
        if (one.type === "send.line" && isRpcLine(one.line)) sends.push(one.line);
      } else reports.push(one);
    }
  };
  const hears = (line: unknown): void => step({ type: "line", from: "agent", line });
  const told = (command: AgentCommand): void => step({ type: "command", command });
  const last = (method: string): RpcLine => {
    const found = sends.findLast((line) => line.method === method);
    if (found === undefined) throw new Error(`${method} was not sent: ${JSON.stringify(sends)}`);
    return found;
  };
  const answers = (method: string, result: unknown): void => hears({ id: last(method).id, result });
  const refuses = (method: string, message: string): void =>
    hears({ id: last(method).id, error: { code: -32600, message } });
  step({ type: "connected", first, options: { ...options, ...asked } });
  /** To a thread that takes prompts. */
  const ready = (): void => {
    if (first) answers("initialize", { userAgent: "x", codexHome: "/home/user/.codex" });
    answers(sends.some(({ method }) => method === "thread/resume") ? "thread/resume" : "thread/start", threadResult);
  };
  /** A turn that Codex has begun. */
  const turn = (id: string): void => {
    ready();
    told(prompt("go"));
    answers("turn/start", { turn: { id, status: "inProgress" } });
    hears({ method: "turn/started", params: { threadId: THREAD, turn: { id, status: "inProgress" } } });
  };
  return { reports, sends, step, hears, told, last, answers, refuses, ready, turn };
}

const isSend = (one: Report | Send): one is Send => one.type.startsWith("send.");
export const methods = (sends: readonly RpcLine[]) => sends.map(({ method }) => method);

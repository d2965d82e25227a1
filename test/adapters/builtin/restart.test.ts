/** After a crash, after a restart, after a fork: the conversation is in the log, and the model is told of it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { toMessages } from "../../../src/builtin/conversation.ts";
import { readHistory } from "../../../src/builtin/history.ts";
import { serveAnthropic } from "../../../src/model-server/anthropic.ts";
import { sessionId } from "../../../src/protocol/ids.ts";
import { processTable } from "../../../src/runtime/agent/process-table.ts";
import { answer, call, endOf, of, openHouse, saidIn, text, workFolder } from "../../support/builtin.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

test("kill -9 in the middle of a tool: the turn is ended, its process is gone, the next prompt knows everything", async () => {
  const directory = workFolder();
  const store = workFolder();
  const model = await serveAnthropic({
    turns: [
      answer(text("I begin."), call("write", { filePath: "a.txt", content: "a\n" })),
      answer(text("Now the long one."), call("bash", { command: "echo $$ > pid; echo working; sleep 300" })),
    ],
  });
  onTestFinished(() => model.close());
  const owner = await startOwner([store, directory, model.url, "Do the long work"]);
  await owner.untilLine((line) => line.includes('"item.delta"') && line.includes("working"));
  const pid = Number(readFileSync(join(directory, "pid"), "utf8"));
  expect(processTable.startOf(pid)).not.toBeNull();
  await owner.kill();

  const house = await openHouse([answer(text("I remember."))], { store, directory });
  const end = of(await house.log(), "turn.ended");
  expect(end.map(({ data }) => [data.reason, data.evidence])).toEqual([["interrupted", "restart"]]);
  const alive = processTable.list(performance.now()).filter((info) => info.pid === pid && !info.zombie);
  expect(alive).toEqual([]);

  const events = await house.turn("What did you do?");
  expect(endOf(events)).toEqual({ reason: "completed" });
  const [request] = house.requests;
  for (const words of [
    "Do the long work",
    "I begin.",
    "Created a.txt",
    "Now the long one.",
    "working",
    "What did you do?",
  ]) {
    expect(request?.messages).toContain(words);
  }
  expect(calls(request?.body)).toEqual(results(request?.body));
});

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
}

/** What Anthropic insists on: every call has its result. */
const blocksOf = (body: unknown): Block[] => {
  const { messages } = body as { messages: { content: Block[] }[] };
  return messages.flatMap(({ content }) => content);
};
const calls = (body: unknown) => blocksOf(body).flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
const results = (body: unknown) =>
  blocksOf(body).flatMap(({ type, tool_use_id }) => (type === "tool_result" ? [tool_use_id] : []));

test("a daemon that is stopped and started: conversation, permissions, todos and ids go on", async () => {
  const directory = workFolder();
  const store = workFolder();
  const todos = [{ id: "1", content: "paint it", status: "in_progress" }];
  const first = await openHouse(
    [answer(call("todowrite", { todos }), call("bash", { command: "echo one" })), answer(text("First."))],
    { store, directory, mode: "default" },
  );
  await first.turn("begin", async (event) => {
    if (event.type !== "permission.requested") return;
    await first.sessions.replyPermission(first.id, event.data.permission_id, { reply: "always" });
  });
  await first.close();

  const second = await openHouse(
    [answer(call("bash", { command: "echo one" }), call("todoread", {})), answer(text("Second."))],
    { store, directory, mode: "default" },
  );
  const events = await second.turn("go on");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(of(events, "permission.requested")).toEqual([]);
  expect(second.requests[0]?.messages).toContain("First.");
  expect(second.requests[1]?.messages).toContain("[>] paint it");
  const named = of(await second.log(), "item.started").flatMap(({ data: { item } }) =>
    item.kind === "message" ? (item.native_item_id ?? []) : [],
  );
  expect(new Set(named).size).toBe(named.length);
});

test("a compaction survives: only the summary and the kept tail come back", async () => {
  const directory = workFolder();
  const store = workFolder();
  const script = {
    turns: [answer(text("Old talk.")), answer(text("New talk."))],
    side: [
      { name: "summary", match: { systemContains: "condense the history" }, turns: [answer(text("In short: talk."))] },
    ],
  };
  const first = await openHouse(script, { store, directory });
  await first.turn("one");
  const { lastSequence } = await first.sessions.get(first.id);
  await first.sessions.compact(first.id);
  for await (const group of first.sessions.follow(first.id, {
    after: lastSequence,
    signal: AbortSignal.timeout(10_000),
  })) {
    if (group.notable().some(({ type }) => type === "turn.ended")) break;
  }
  await first.turn("two");
  await first.close();

  const second = await openHouse([answer(text("ok"))], { store, directory });
  await second.turn("three");
  const { messages = "" } = second.requests[0] ?? {};
  expect(messages).toContain("In short: talk.");
  expect(messages).toContain("New talk.");
  expect(messages).not.toContain("Old talk.");
});

test("a fork goes on from where its parent stood, also after a restart, and the parent's later words are not in it", async () => {
  const directory = workFolder();
  const store = workFolder();
  const first = await openHouse([answer(text("Shared."))], { store, directory });
  await first.turn("before the fork");
  await first.sessions.fork(first.id, sessionId("fork"));
  await first.sessions.prompt(sessionId("fork"), { text: "in the fork" });
  for await (const group of first.sessions.follow(sessionId("fork"), {
    after: 0,
    signal: AbortSignal.timeout(10_000),
  })) {
    if (group.notable().some(({ type }) => type === "turn.ended") && first.requests.length === 2) break;
  }
  expect(first.requests[1]?.messages).toContain("before the fork");
  await first.turn("the parent goes its way");
  expect(first.requests[2]?.messages).not.toContain("in the fork");
  await first.close();

  const second = await openHouse([answer(text("Still here."))], { store, directory, session: "fork" });
  await second.turn("again");
  const { messages = "" } = second.requests[0] ?? {};
  expect(messages).toContain("before the fork");
  expect(messages).toContain("in the fork");
  expect(messages).not.toContain("the parent goes its way");
});

test("what the log gives back is what the model was last told", async () => {
  const house = await openHouse([
    answer(text("One."), call("list", {}, "call_a"), call("nothing", {}, "call_b")),
    { type: "answer", blocks: [text("broken off", 3)], fault: { type: "cut", afterChunks: 2 }, chunkDelayMs: 2 },
    answer(text("Two.")),
    answer(call("read", { filePath: "missing" }, "call_c")),
    answer(text("Three.")),
    answer(text("Four.")),
  ]);
  await house.turn("first");
  await house.turn("second");
  await house.turn("third");
  const rebuilt = toMessages(readHistory(await house.log()).entries);
  const told = house.requests.at(-1)?.body as { messages: { role: string; content: unknown[] }[] };
  const shape = (messages: readonly { role: string; content: unknown }[]) =>
    messages.map(({ role, content }) => `${role === "tool" ? "user" : role} ${JSON.stringify(textsOf(content))}`);
  expect(shape(rebuilt.slice(0, -1))).toEqual(shape(told.messages));
  expect(saidIn(await house.log())).toEqual(["One.", "Two.", "Three.", "Four."]);
});

test("what was taken back is not given to the model again", async () => {
  const house = await openHouse(["One.", "Two."].map((words) => answer(text(words))));
  await house.turn("first");
  await house.turn("second");
  const log = await house.log();
  const items = log.flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []));
  const from = items.findIndex(({ content }) => JSON.stringify(content).includes("second"));
  const removed = items.slice(from).flatMap(({ message_id }) => (message_id === null ? [] : [{ message_id }]));
  const [last] = log.slice(-1);
  if (last === undefined) throw new Error("The log is empty.");
  const taken = { ...last, type: "session.updated" as const, data: { revert: null, removed } };
  expect(JSON.stringify(readHistory([...log, taken]).entries)).toMatch(/first.*One\./);
  expect(JSON.stringify(readHistory([...log, taken]).entries)).not.toMatch(/second|Two\./);
});

/** Only the words and the ids: each side has its own spelling for the rest. */
const textsOf = (content: unknown): string[] =>
  JSON.stringify(content).match(/call_[abc]|One\.|Two\.|Three\.|Four\.|first|second|third|broken/g) ?? [];

async function startOwner(args: readonly string[]) {
  const folder = join(root, "node_modules", ".cache", "franca-test");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `builtin-owner-${process.pid}.mjs`);
  const entryPoints = [join(root, "test", "support", "builtin-owner.ts")];
  await build({
    entryPoints,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile,
    logLevel: "error",
  });
  const child = spawn(process.execPath, [outfile, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  return {
    async untilLine(fits: (line: string) => boolean): Promise<void> {
      for await (const line of lines) if (fits(line)) return;
      throw new Error("The owner ended before it said so.");
    },
    async kill(): Promise<void> {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

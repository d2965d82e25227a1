/** Finishing what was started, through the daemon: the mock, the builtin agent and plugins, as listeners see them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import type { ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import type { EventOf, UniversalEvent } from "../../src/protocol/events.ts";
import type { Session } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const typesOf = (events: readonly UniversalEvent[]): string[] =>
  events.filter(({ type }) => type.startsWith("turn.")).map(brief);

function brief(event: UniversalEvent): string {
  if (event.type === "turn.continued") return `${event.type} ${event.data.decision}`;
  return event.type === "turn.ended" ? `${event.type} ${event.data.reason}` : event.type;
}

const isA =
  <Type extends UniversalEvent["type"]>(
    type: Type,
  ): ((event: UniversalEvent) => event is Extract<UniversalEvent, EventOf<Type>>) =>
  (event): event is Extract<UniversalEvent, EventOf<Type>> =>
    event.type === type;

async function ask(session: Session, prompt: string): Promise<UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  for await (const event of session.ask(prompt)) events.push(event);
  return events;
}

const open = (daemon: TestDaemon, options: object = {}): Promise<Session> =>
  daemon.client.create({ id: "s", agent: "mock", directory: daemon.directory, finishTodos: true, ...options });

describe("the mock", () => {
  test("goes on in the same turn until its todos are done", async () => {
    const session = await open(await startDaemon());
    expect(typesOf(await ask(session, "unfinished"))).toEqual([
      "turn.started",
      "turn.continued continue",
      "turn.continued continue",
      "turn.ended completed",
    ]);
    expect((await session.get()).todos.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  });

  test("a stubborn one is asked once, and the log says why it was not asked again", async () => {
    const session = await open(await startDaemon());
    const events = await ask(session, "unfinished stubborn");
    expect(typesOf(events)).toEqual([
      "turn.started",
      "turn.continued continue",
      "turn.continued settle",
      "turn.ended completed",
    ]);
    expect(events.filter(isA("turn.continued")).at(-1)?.data.reason).toBe(
      "the last continuation closed no more todos than before",
    );
  });

  test("nobody is asked to go on who did not opt in", async () => {
    const session = await open(await startDaemon(), { finishTodos: false });
    expect(typesOf(await ask(session, "unfinished"))).toEqual(["turn.started", "turn.ended completed"]);
  });

  test("the stop switch holds, also after a restart of the daemon", async () => {
    const data = join(temporaryFolder(), "data");
    const first = await startDaemon({ store: "sqlite", data });
    const session = await open(first);
    await session.stopContinuing();
    await first.close();
    const again = (await startDaemon({ store: "sqlite", data })).client.session("s");
    expect(typesOf(await ask(again, "unfinished"))).not.toContain("turn.continued continue");
  });

  test("an abort during a continuation switches it off for the session", async () => {
    const daemon = await startDaemon();
    const session = await open(daemon, { env: { FRANCA_MOCK_DELAY_MS: "20" } });
    const events: UniversalEvent[] = [];
    for await (const event of session.ask("unfinished")) {
      events.push(event);
      if (event.type === "turn.continued") await session.abort();
    }
    expect(typesOf(events)).toEqual(["turn.started", "turn.continued continue", "turn.ended aborted"]);
    expect(typesOf(await ask(session, "unfinished"))).not.toContain("turn.continued continue");
  });
});

const texts = (...blocks: ScriptBlock[]): ScriptTurn => ({ type: "answer", blocks });
const text = (said: string): ScriptBlock => ({ type: "text", text: said, chunks: 3 });
const todos = (...statuses: string[]): ScriptBlock => ({
  type: "tool_call",
  name: "todowrite",
  input: { todos: statuses.map((status, index) => ({ content: `task ${index}`, status, priority: "medium" })) },
});

async function builtinDaemon(
  turns: readonly ScriptTurn[],
  options: Parameters<typeof startDaemon>[0] = {},
): Promise<TestDaemon> {
  const server = await serveAnthropic({ turns });
  onTestFinished(() => server.close());
  const provider = { scripted: { kind: "anthropic" as const, baseURL: server.url, apiKey: "dummy" } };
  return startDaemon({ builtin: { model: "scripted/model", provider }, ...options });
}

describe("the builtin agent", () => {
  test("two open todos: it continues in the same turn and finishes", async () => {
    const daemon = await builtinDaemon([
      texts(todos("completed", "pending", "pending")),
      texts(text("I stop early.")),
      texts(todos("completed", "completed", "completed")),
      texts(text("All done.")),
    ]);
    const session = await open(daemon, { agent: "builtin" });
    expect(typesOf(await ask(session, "work"))).toEqual([
      "turn.started",
      "turn.continued continue",
      "turn.ended completed",
    ]);
  });

  test("OpenCode's text hook changes what everybody reads, and the deltas add up to it", async () => {
    const base = temporaryFolder();
    writeFileSync(
      join(base, "plugin.ts"),
      `export const Polite = async ({ project, client, $, directory, worktree }) => ({
        async "experimental.text.complete"(input, output) { output.text = output.text.replace("bad", "good"); },
      });`,
    );
    const daemon = await builtinDaemon([texts(text("a bad text"))], { plugins: ["./plugin.ts"], configFolder: base });
    const events = await ask(await open(daemon, { agent: "builtin" }), "work");
    const said = events.filter(isA("item.completed")).filter(({ data }) => data.item.role === "assistant");
    expect(said.map(({ data }) => data.item.content)).toEqual([[{ type: "text", text: "a good text" }]]);
    const deltas = events.filter(isA("item.delta")).map(({ data }) => data.delta);
    expect(deltas).toEqual(["a good text"]);
  });

  test("a hook that throws is told as an error that ends nothing", async () => {
    const base = temporaryFolder();
    const source = `export const bad = () => ({ "experimental.text.complete": () => { throw new Error("oh no") } })`;
    writeFileSync(join(base, "bad.js"), source);
    const daemon = await builtinDaemon([texts(text("fine"))], { plugins: ["./bad.js"], configFolder: base });
    const events = await ask(await open(daemon, { agent: "builtin" }), "work");
    expect(events.filter(isA("error")).map(({ data }) => [data.code, data.fatal])).toEqual([["plugin_failed", false]]);
    expect(typesOf(events).at(-1)).toBe("turn.ended completed");
  });
});

describe("plugins, for every agent", () => {
  test("todo-continuation proposes, the governor decides, notify hears of the end once", async () => {
    const base = temporaryFolder();
    const heard = join(base, "heard");
    const command = `echo "$FRANCA_REASON" >> ${heard}`;
    const daemon = await startDaemon({ plugins: ["todo-continuation", ["notify", { command }]], configFolder: base });
    const session = await open(daemon, { finishTodos: false });
    expect(typesOf(await ask(session, "unfinished"))).toEqual([
      "turn.started",
      "turn.continued continue",
      "turn.continued continue",
      "turn.ended completed",
    ]);
    await expect.poll(() => readIfThere(heard)).toBe("completed\n");
  });

  test("permission.ask answers for the person", async () => {
    const base = temporaryFolder();
    const source = `export const p = () => ({ "permission.ask": (_in, out) => { out.status = "deny" } })`;
    writeFileSync(join(base, "deny.js"), source);
    const daemon = await startDaemon({ plugins: ["./deny.js"], configFolder: base });
    const events = await ask(await open(daemon), "permission");
    expect(events.filter(isA("permission.resolved")).map(({ data }) => data.status)).toEqual(["reject", "reject"]);
  });
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

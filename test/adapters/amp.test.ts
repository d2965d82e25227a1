/** Amp: its recorded streams from a process to the daemon's clients, and what its command line cannot do. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { amp } from "../../src/adapters/amp/index.ts";
import { convertLines } from "../../src/core/convert.ts";
import { isAmpLine } from "../../src/dialects/amp.ts";
import { AmpLine } from "../../src/dialects/amp-schema.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { promptId } from "../../src/protocol/ids.ts";
import type { Session } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { launchOptions, liveSession } from "../support/live-session.ts";
import { damaged } from "../support/mutate-lines.ts";
import { root, transcriptsOf } from "../support/transcripts.ts";

const transcripts = transcriptsOf(amp);
const lines = transcripts.flatMap(({ recording }) =>
  recording.flatMap((one) => (one.type === "line" ? [one.line] : [])),
);

/** A daemon that finds the stand-in where it looks for `amp`. */
async function withFakeAmp(): Promise<TestDaemon> {
  const folder = join(temporaryFolder(), "bin");
  mkdirSync(folder);
  symlinkSync(join(root, "test", "support", "fake-amp.js"), join(folder, "amp"));
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  return startDaemon();
}

async function turnOf(session: Session, prompt: string): Promise<UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  for await (const event of session.ask(prompt)) events.push(event);
  return events;
}

const endsOf = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) =>
    event.type === "turn.ended" ? [{ reason: event.data.reason, evidence: event.data.evidence }] : [],
  );

/** What was said and done, without the prompt. */
const storyOf = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => {
    if (event.type !== "item.completed" || event.data.item.role === "user") return [];
    const { kind, role, status, content } = event.data.item;
    return [{ kind, role, status, content }];
  });

const onCommandLine = transcripts.filter(({ name }) => !/b1-|b2-|k1-|j1-|e1-|e2-|document-/.test(name));

describe("through the daemon", () => {
  test.each(onCommandLine)("$name", async ({ name, about, adapter, recording }) => {
    const { client, directory } = await withFakeAmp();
    const session = await client.create({ agent: "amp", directory });
    const prompt = name.slice("amp/".length);
    const events = await turnOf(session, prompt);
    expect(endsOf(events)).toEqual(about.turns);
    expect(storyOf(events)).toEqual(storyOf(convertLines(adapter, recording)));
    const { items } = await session.get();
    expect(items.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      [{ type: "text", text: prompt }],
    ]);
  });

  test("the next prompt goes on with the thread, in a process of its own, after the first has gone", async () => {
    const { client, directory } = await withFakeAmp();
    const session = await client.create({ agent: "amp", directory, agentMode: "high" });
    const [first, second] = await Promise.all([
      turnOf(session, "c1-thread-first"),
      turnOf(session, "c2-thread-continue"),
    ]);
    expect([...endsOf(first), ...endsOf(second)]).toEqual(Array(2).fill({ reason: "completed", evidence: "signal" }));
    const { lines: native } = await session.listNative({ limit: 100 });
    const threads = native.flatMap(({ from, native: line }) => (from === "agent" ? [threadOf(line)] : []));
    expect(new Set(threads).size).toBe(1);
    const isInit = (line: unknown): boolean => JSON.stringify(line).includes('"subtype":"init"');
    const [, begun] = native.filter(({ native: line }) => isInit(line));
    const gone = native.find(({ from }) => from === "process");
    expect(begun?.line).toBeGreaterThan(gone?.line ?? Number.POSITIVE_INFINITY);
    expect((await session.get()).nativeSessionId).toBe(threads[0]);
  });

  test("an abort is a signal, and Amp says that it was cancelled", async () => {
    const { client, directory } = await withFakeAmp();
    const session = await client.create({ agent: "amp", directory });
    const turn = turnOf(session, "e1-sigint");
    for await (const event of session.events()) if (event.type === "item.completed") break;
    await session.abort();
    expect(endsOf(await turn)).toEqual([{ reason: "aborted", evidence: "signal" }]);
    expect(endsOf(await turnOf(session, "a1-text"))).toEqual([{ reason: "completed", evidence: "signal" }]);
  });

  test("the hang at the output limit ends by the watchdog, and the next prompt runs", async () => {
    const { client, directory } = await withFakeAmp();
    const session = await client.create({ agent: "amp", directory, watchdogMs: 1_000 });
    const events = await turnOf(session, "j1-max-tokens");
    expect(endsOf(events)).toEqual([{ reason: "error", evidence: "watchdog" }]);
    expect(storyOf(events).map(({ status }) => status)).toEqual(["failed"]);
    expect(endsOf(await turnOf(session, "a1-text"))).toEqual([{ reason: "completed", evidence: "signal" }]);
  });

  test("a line separator inside a line does not end it", async () => {
    const { client, directory } = await withFakeAmp();
    const session = await client.create({ agent: "amp", directory });
    const events = await turnOf(session, "i1-large-and-unicode");
    expect(JSON.stringify(storyOf(events)[0]?.content)).toContain("\u2028");
  });
});

const threadOf = (line: unknown): unknown =>
  typeof line === "object" && line !== null && "session_id" in line ? line.session_id : undefined;

describe("the command line", () => {
  const prompt = { prompt_id: promptId("p"), text: "hello", attachments: [] };

  test("is as documented", () => {
    expect(amp.launch({ ...launchOptions, prompt })).toMatchObject({
      command: "amp",
      args: ["-x", "hello", "--stream-json", "--stream-json-thinking", "--no-archive-after-execute"],
      lifetime: "turn",
    });
    expect(amp.launch({ ...launchOptions, prompt, resume: "T-1", mode: "low" })).toMatchObject({
      args: [
        "threads",
        "continue",
        "T-1",
        "-x",
        "hello",
        ...["--stream-json", "--stream-json-thinking"],
        "--no-archive-after-execute",
        "--mode",
        "low",
      ],
    });
    const dashed = amp.launch({ ...launchOptions, prompt: { ...prompt, text: "-v is a flag" } });
    expect(dashed).toMatchObject({ args: expect.arrayContaining([" -v is a flag"]) });
  });

  test.each([
    { model: "some/model" },
    { variant: "high" },
    { resume: "T-1", fork: true },
    { system_prompt: "Be brief." },
    { mcp: { demo: { command: "demo" } } },
    { permission_mode: "bypass" as const },
    { permission_mode: "plan" as const },
    { prompt: { ...prompt, attachments: [{ path: "/a.txt" }] } },
    { prompt: { ...prompt, text: "x".repeat(50_000) } },
  ])("refuses what it cannot do: %o", (options) => {
    const launch = amp.launch({ ...launchOptions, prompt, ...options });
    expect(launch.kind).toBe("refused");
    expect(launch).toMatchObject({ message: expect.stringContaining("Amp") });
  });
});

describe("lines", () => {
  test("are accepted by guard and schema alike, and damaged ones are judged alike", () => {
    for (const line of lines) {
      expect(isAmpLine(line)).toBe(true);
      expect(AmpLine.safeParse(line).error).toBeUndefined();
    }
    const judged = { yes: 0, no: 0 };
    fc.assert(
      fc.property(damaged(lines), (line) => {
        const accepted = isAmpLine(line);
        judged[accepted ? "yes" : "no"] += 1;
        expect({ line, accepted }).toEqual({ line, accepted: AmpLine.safeParse(line).success });
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(judged.yes, judged.no)).toBeGreaterThan(100);
  });

  test("that newer builds may have learned are reported as not understood", () => {
    const live = liveSession(amp);
    live.prompt("hello");
    live.connect();
    const news = { type: "system", subtype: "tool_progress", session_id: "T-1", elapsed: 3 };
    live.hear(news, { type: "thread_title", session_id: "T-1", title: "New" });
    expect(live.of("agent.unparsed")).toHaveLength(2);
  });

  test("of a subagent, should they ever come, are told as its own", () => {
    const live = liveSession(amp);
    live.prompt("hello");
    live.connect();
    const said = (content: object[], more: object = {}) => ({
      type: "assistant",
      session_id: "T-1",
      message: { content },
      ...more,
    });
    live.hear(said([{ type: "tool_use", id: "toolu_1", name: "Task", input: { description: "Look" } }]));
    live.hear(said([{ type: "text", text: "Looking." }], { parent_tool_use_id: "toolu_1" }));
    const content = [{ type: "tool_result", tool_use_id: "toolu_1", content: "Looked." }];
    live.hear({ type: "user", session_id: "T-1", message: { content } });
    const own = live.of("item.completed").filter(({ data }) => data.item.subagent?.parent_call_id === "toolu_1");
    expect(own.map(({ data }) => `${data.item.kind} ${data.item.status}`)).toEqual([
      "message completed",
      "status completed",
    ]);
  });
});

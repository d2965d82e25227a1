/** The real Claude Code when things go wrong or are stopped: each turn ends once, and no process is left. */
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { connect } from "../../src/sdk/index.ts";
import {
  answer,
  answers,
  bash,
  ends,
  missing,
  noCommandIsLeft,
  noProcessIsLeft,
  of,
  openBench,
  processesOf,
  sandbox,
  stalled,
  text,
} from "../support/claude.ts";
import { serve } from "../support/daemon.ts";
import { describeNeeding } from "../support/requires.ts";
import { open, turn } from "../support/sessions.ts";

describeNeeding("Claude Code, ended", { missing }, () => {
  test("a busy provider is retried, and the wait is shown", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          { type: "status", status: 429, headers: { "retry-after": "1" } },
          { type: "status", status: 529 },
          answer(text("Recovered.")),
        ],
      }),
    });
    await bench.create();
    const events = await turn(bench.sessions, bench.id, "Hello");
    expect(ends(events)).toEqual(["completed/signal"]);
    expect(of(events, "turn.state").map(({ data }) => data.state)).toEqual(["retrying", "retrying", "running"]);
    expect(answers(events)).toEqual(["Recovered."]);
  });

  test.each([
    { type: "cut", afterChunks: 2 } as const,
    { type: "error", afterChunks: 2, code: "overloaded_error", message: "Overloaded" } as const,
  ])("a stream that breaks off ($type) is a failed block, and the second try is another item", async (fault) => {
    const bench = await openBench({
      script: () => ({
        turns: [
          { ...answer(text("This will break off", 4)), chunkDelayMs: 50, fault },
          answer(text("Whole again.", 2)),
        ],
      }),
    });
    await bench.create();
    const events = await turn(bench.sessions, bench.id, "Hello");
    expect(ends(events)).toEqual(["completed/signal"]);
    const said = of(events, "item.completed").filter(({ data }) => data.item.role === "assistant");
    expect(said.map(({ data }) => data.item.status)).toEqual(["failed", "completed"]);
    expect(answers(events)).toEqual(["This will", "Whole again."].map((words) => expect.stringContaining(words)));
  });

  test("a request that the provider refuses for good is an error, not the words of the model", async () => {
    const bench = await openBench({ script: () => ({ turns: [{ type: "status", status: 400, message: "no good" }] }) });
    await bench.create();
    const events = await turn(bench.sessions, bench.id, "Hello");
    expect(ends(events)).toEqual(["error/signal"]);
    expect(of(events, "turn.ended")[0]?.data.error).toMatchObject({ code: "invalid_request_error" });
    expect(of(events, "error").filter(({ data }) => data.fatal)).toHaveLength(1);
    expect(answers(events)).toEqual([]);
  });

  test("a wrong key fails soon, with advice", async () => {
    const bench = await openBench({ script: () => ({ turns: [{ type: "status", status: 401 }] }) });
    await bench.create();
    const events = await turn(bench.sessions, bench.id, "Hello");
    expect(of(events, "turn.ended")[0]?.data).toMatchObject({
      reason: "error",
      error: { code: "authentication_failed", message: expect.stringContaining("ANTHROPIC_API_KEY") },
    });
  });

  test("abort in the middle of a text: the block is kept as failed, the process takes the next prompt", async () => {
    const bench = await openBench({
      script: () => ({ turns: [stalled("A text that nobody lets come to its end"), answer(text("Still here."))] }),
    });
    await bench.create();
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Write a lot" });
    const delta = await bench.last("item.delta", sequence);
    await bench.sessions.abort(bench.id, { clearQueue: false });
    const end = await bench.last("turn.ended", delta.sequence);
    expect([end.data.reason, end.data.evidence]).toEqual(["aborted", "signal"]);
    const next = await turn(bench.sessions, bench.id, "Still there?");
    expect(answers(next)).toEqual(["Still here."]);
    const log = await bench.log();
    const broken = of(log, "item.completed").find(({ data }) => data.item.item_id === delta.data.item_id);
    expect(broken?.data.item.status).toBe("failed");
    await bench.sessions.terminate(bench.id);
    await noProcessIsLeft(bench.id);
  });

  test("abort while a command runs, one in front and one behind: both are gone", async () => {
    const bench = await openBench({
      script: () => ({
        turns: [
          answer(bash("perl -e 'sleep 301'", { run_in_background: true })),
          answer(bash("perl -e 'sleep 302'")),
          answer(text("Never said.")),
        ],
      }),
    });
    await bench.create(sandbox(bench));
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Take your time" });
    await expect
      .poll(() => processesOf(bench.id).filter(({ command }) => command.includes("sleep 302")).length, {
        timeout: 10_000,
      })
      .not.toBe(0);
    await bench.sessions.abort(bench.id, { clearQueue: false });
    expect((await bench.last("turn.ended", sequence)).data.reason).toBe("aborted");
    await noCommandIsLeft(bench.id, "sleep 30");
  });

  test("abort while idle does nothing", async () => {
    const bench = await openBench({ script: () => ({ turns: [answer(text("Hi."))] }) });
    await bench.create();
    await turn(bench.sessions, bench.id, "Hello");
    const before = (await bench.log()).length;
    await bench.sessions.abort(bench.id, { clearQueue: false });
    expect(await bench.log()).toHaveLength(before);
  });

  test("kill -9 in the middle of a turn: it fails, and the next prompt resumes the conversation", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(text("The word is pear.")), stalled("A text that is cut short by force")] }),
    });
    await bench.create();
    const first = await turn(bench.sessions, bench.id, "Remember a word");
    await bench.remembered("The word is pear.");
    const { sequence } = await bench.sessions.prompt(bench.id, { text: "Go on" });
    const delta = await bench.last("item.delta", sequence);
    for (const { pid } of processesOf(bench.id)) process.kill(pid, "SIGKILL");
    const end = await bench.last("turn.ended", delta.sequence);
    expect(end.data).toMatchObject({ reason: "error", evidence: "exit", error: { code: "agent_exited" } });
    bench.model.load({ turns: [answer(text("Pear."))] });
    const again = await turn(bench.sessions, bench.id, "Which word?");
    expect(ends(again)).toEqual(["completed/signal"]);
    expect(bench.told("The word is pear.")).toBe(true);
    expect(again[0]?.native_session_id).toBe(first.at(-1)?.native_session_id);
    const cost = of([...first, ...again], "turn.ended").map(({ data }) => data.usage.tokens.input);
    expect(cost).toEqual([100, 100]);
  });

  test("the daemon is gone and back: the log is there, and the next prompt resumes the conversation", async () => {
    const bench = await openBench({ script: () => ({ turns: [answer(text("The word is plum."))] }), stored: true });
    await bench.create();
    await turn(bench.sessions, bench.id, "Remember a word");
    await bench.sessions.close();
    await noProcessIsLeft(bench.id);
    const again = await open(join(bench.folder, "data"), { adapters: [claude] });
    try {
      bench.model.load({ turns: [answer(text("Plum."))] });
      const events = await turn(again, bench.id, "Which word?");
      expect(ends(events)).toEqual(["completed/signal"]);
      expect(bench.told("The word is plum.")).toBe(true);
      expect((await again.get(bench.id)).usage.tokens.input).toBe(200);
    } finally {
      await again.close();
    }
    await noProcessIsLeft(bench.id);
  });

  test("kill -9 of the daemon in the middle of a turn: no process is left, the turn is told, the next prompt resumes", async () => {
    const bench = await openBench({
      script: () => ({ turns: [answer(text("The word is lime.")), stalled("A text that nobody hears the end of")] }),
    });
    const home = join(bench.folder, "data");
    const data = join(home, "share", "franca");
    const env = { PATH: process.env.PATH ?? "" };
    const first = await serve({ home, env, args: ["--port", "0"] });
    const session = await connect({ url: first.url, data }).create({
      id: bench.id,
      agent: "claude",
      directory: bench.directory,
      env: { ...bench.env },
    });
    await whole(session.ask("Remember a word"));
    await bench.remembered("The word is lime.");
    await session.prompt("Go on");
    await bench.model.received(2, { signal: AbortSignal.timeout(20_000) });
    const gone = once(first.child, "exit");
    first.child.kill("SIGKILL");
    await gone;

    const second = await serve({ home, env, args: ["--port", "0"] });
    await noProcessIsLeft(bench.id);
    bench.model.load({ turns: [answer(text("Lime."))] });
    const again = connect({ url: second.url, data }).session(bench.id);
    await whole(again.ask("Which word?"));
    expect(bench.told("The word is lime.")).toBe(true);
    const { events } = await again.listEvents({ limit: 1_000 });
    expect(ends(events)).toEqual(["completed/signal", "interrupted/restart", "completed/signal"]);
    await again.terminate();
    await noProcessIsLeft(bench.id);
  });
});

async function whole(events: AsyncIterable<UniversalEvent>): Promise<void> {
  for await (const _event of events);
}

/** Agents and readers that misbehave: memory stays bounded, errors are clear, everyone else is served. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defineAdapter } from "../../src/core/adapter.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { allSessions } from "../../src/runtime/session/every-session.ts";
import { fake } from "../support/fake-adapter.ts";
import { endOf, open, removeFolder, session, spoken, tempFolder, turn, until } from "../support/sessions.ts";
import { tiny } from "../support/tiny-adapter.ts";

const MB = 1024 * 1024;
const id = session("s");

let folder: string;
let sessions: Sessions;
beforeEach(async () => {
  folder = tempFolder();
  sessions = await open(folder);
  await sessions.create(id, { agent: "fake", directory: folder });
});
afterEach(async () => {
  await sessions.close();
  removeFolder(folder);
});

/** How far memory rises above where it was while the work is done. */
async function peakDuring(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return peak - before;
}

const unparsed = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => (event.type === "agent.unparsed" ? [event.data.error] : []));

describe("an agent that sends", () => {
  test("a line of 100 MB: it is named and dropped, and the turn goes on", async () => {
    let events: UniversalEvent[] = [];
    const rise = await peakDuring(async () => {
      events = await turn(sessions, id, "huge 100");
    });
    expect(unparsed(events)).toEqual([
      expect.stringMatching(/A line of 1048\d+ bytes was dropped: the limit is 33554432/),
    ]);
    expect(spoken(events)).toBe("after the huge line");
    expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
    expect(rise).toBeLessThan(200 * MB);
  });

  test("a line nested deeper than a stack: it is named and dropped, and the turn goes on", async () => {
    const events = await turn(sessions, id, "deep 100000");
    expect(unparsed(events)).toEqual([expect.stringMatching(/nested deeper than 500 levels/)]);
    const kept = (await sessions.native(id, { offset: 0, limit: 100 })).lines.map(
      (line) => JSON.stringify(line).length,
    );
    expect(Math.max(...kept)).toBeLessThan(2_000);
    expect(spoken(events)).toBe("after the deep line");
    expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
  });

  test("half lines: they are put together, characters and all", async () => {
    const events = await turn(sessions, id, "halves");
    expect(spoken(events)).toBe("zwölf — \u2028 🎉");
    expect(unparsed(events)).toEqual([]);
  });

  test("garbage: each line of it is told, and the turn goes on", async () => {
    const events = await turn(sessions, id, "garbage");
    expect(unparsed(events)).toHaveLength(4);
    expect(spoken(events)).toBe("still here");
    expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
  });

  test("stderr without end: none of it is kept but its head and tail", async () => {
    let events: UniversalEvent[] = [];
    const rise = await peakDuring(async () => {
      events = await turn(sessions, id, "stderr 30");
    });
    expect(spoken(events)).toBe("after the noise");
    expect(rise).toBeLessThan(60 * MB);
    const crash = (await turn(sessions, id, "crash 3")).at(-1);
    const stderr = crash?.type === "turn.ended" ? crash.data.error?.details : null;
    expect(stderr).toMatchObject({ stderr: { truncated: true, total_lines: 5_100_001 } });
    expect(JSON.stringify(stderr).length).toBeLessThan(20_000);
  });

  test("more than the log takes: it waits, and nothing piles up", async () => {
    const flooded = session("flooded");
    await sessions.create(flooded, { agent: "mock", directory: folder });
    let events = 0;
    const rise = await peakDuring(async () => {
      const { sequence } = await sessions.prompt(flooded, { text: "flood 60000" });
      for await (const group of sessions.follow(flooded, { after: sequence, signal: new AbortController().signal })) {
        events += group.last - group.first + 1;
        if (group.notable().some(({ type }) => type === "turn.ended")) break;
      }
    });
    expect(events).toBeGreaterThan(60_000);
    // The events alone are 22 MB, and each is held in several forms on its way.
    expect(rise).toBeLessThan(200 * MB);
  });

  test("what we hold: it reaches neither the log nor the native lines", async () => {
    const secretive = session("secretive");
    const secret = "very-secret-value-1";
    await sessions.create(secretive, { agent: "fake", directory: folder, env: { MY_API_KEY: secret } });
    expect(spoken(await turn(sessions, secretive, "env MY_API_KEY"))).toBe("[redacted]");
    expect(spoken(await turn(sessions, secretive, "env FRANCA_SESSION_ID"))).toBe(secretive);
    const { lines } = await sessions.native(secretive, { offset: 0, limit: 1000 });
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(JSON.stringify(await sessions.get(secretive))).not.toContain(secret);
  });
});

describe("our own mistakes", () => {
  const boom = defineAdapter<object, ReturnType<typeof fake.open>>({
    agent: "boom",
    name: "Boom",
    isNative: (value): value is object => typeof value === "object" && value !== null,
    recognises: () => false,
    capabilities: fake.capabilities,
    launch: fake.launch,
    adapter: {
      start: fake.open,
      step(running, input) {
        const isPrompt = input.type === "command" && input.command.type === "prompt";
        const said = input.type === "line" ? input.line : isPrompt ? input.command : null;
        if (JSON.stringify(said).includes(isPrompt ? "trap" : "boom")) throw new Error("a bug of ours");
        return running.step(input);
      },
    },
  });

  test("a fold that breaks ends the turn with a clear error; the session and the others live on", async () => {
    await sessions.close();
    sessions = await open(folder, { adapters: [boom, fake] });
    const broken = session("broken");
    await sessions.create(broken, { agent: "boom", directory: folder });
    const events = await turn(sessions, broken, "echo boom");
    expect(events.at(-1)).toMatchObject({
      data: { reason: "error", error: { code: "internal", message: expect.stringMatching(/a bug of ours/) } },
    });
    expect(spoken(await turn(sessions, broken, "echo fine"))).toBe("fine");
    expect(spoken(await turn(sessions, id, "echo undisturbed"))).toBe("undisturbed");
  });

  test("those who come while a fold breaks are told", async () => {
    await sessions.close();
    sessions = await open(folder, { adapters: [boom, fake] });
    const broken = session("broken");
    await sessions.create(broken, { agent: "boom", directory: folder });
    await turn(sessions, broken, "echo connected");
    const asked = ["trap", "echo behind it"].map((text) => sessions.prompt(broken, { text }));
    const told = await Promise.allSettled([...asked, sessions.stopContinuing(broken)]);
    expect(told.map((one) => (one.status === "rejected" ? String(one.reason) : "done"))).toEqual([
      expect.stringMatching(/a bug of ours/),
      expect.stringMatching(/a bug of ours/),
      expect.stringMatching(/a bug of ours/),
    ]);
    expect(spoken(await turn(sessions, broken, "echo fine"))).toBe("fine");
  });

  test("an agent inside this process that throws is a turn that failed", async () => {
    await sessions.close();
    const inProcess = {
      mock: {
        open: () => ({
          receive() {
            throw new Error("a bug in the agent");
          },
        }),
      },
    };
    sessions = await open(folder, { inProcess });
    const broken = session("broken");
    await sessions.create(broken, { agent: "mock", directory: folder });
    const events = await turn(sessions, broken, "echo hello");
    expect(events.at(-1)).toMatchObject({ data: { reason: "error", error: { code: "internal" } } });
  });
});

test("a reader that never reads holds up nobody and costs nothing", async () => {
  const flooded = session("flooded");
  await sessions.create(flooded, { agent: "mock", directory: folder });
  const stop = new AbortController();
  const idle = sessions.follow(flooded, { after: 0, signal: stop.signal })[Symbol.asyncIterator]();
  await idle.next();
  const events = await turn(sessions, flooded, "flood 30000");
  expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
  const second = await idle.next();
  expect(second.done).toBe(false);
  expect(second.value?.first).toBeLessThanOrEqual(3);
  stop.abort();
});

test("200 sessions at once, each with a process of its own, and none disturbs another", async () => {
  await sessions.close();
  sessions = await open(folder, { adapters: [tiny] });
  const names = Array.from({ length: 200 }, (_, index) => session(`t${index}`));
  await Promise.all(names.map((name) => sessions.create(name, { agent: "tiny", directory: folder })));
  const rise = await peakDuring(async () => {
    const turns = await Promise.all(names.map((name) => turn(sessions, name, `I am ${name}`)));
    for (const [index, events] of turns.entries()) {
      expect(spoken(events)).toBe(`I am ${names[index]}`);
      expect(endOf(events)).toEqual({ reason: "completed", evidence: "signal" });
    }
  });
  expect(rise).toBeLessThan(200 * MB);
  expect((await allSessions(sessions)).filter(({ status }) => status === "idle")).toHaveLength(201);
});

test("one session that is stuck in a request does not keep the others", async () => {
  await sessions.prompt(id, { text: "ask" });
  await until(sessions, id, { type: "permission.requested" });
  const free = session("free");
  await sessions.create(free, { agent: "fake", directory: folder });
  expect(spoken(await turn(sessions, free, "echo free"))).toBe("free");
  expect((await sessions.get(id)).status).toBe("requires_action");
});

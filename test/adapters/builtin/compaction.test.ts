/** Compaction: where the limit is, what is kept, and the loop that goes on afterwards. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chooseCut,
  isOverflow,
  summaryEntry,
  summaryPrompt,
  tailBudget,
  usableTokens,
} from "../../../src/builtin/compact.ts";
import { type Entry, estimateEntry } from "../../../src/builtin/conversation.ts";
import type { Script, ScriptTurn } from "../../../src/model-server/script.ts";
import { answer, call, endOf, of, openHouse, providers, saidIn, statesIn, text } from "../../support/builtin.ts";

describe("the limit", () => {
  test.each([
    [{ context: 200_000, output: 32_000 }, {}, 168_000],
    [{ context: 200_000, output: 64_000 }, {}, 168_000],
    [{ context: 400_000, input: 272_000, output: 128_000 }, {}, 252_000],
    [{ context: 1_000, output: 100 }, {}, 900],
    [{ context: 1_000, output: 100 }, { reserved: 400 }, 600],
    [{ context: 1_000, output: 100 }, { reserved: 4_000 }, 0],
  ])("%j with %j leaves %i tokens", (limits, policy, usable) => {
    expect(usableTokens(limits, { auto: true, ...policy })).toBe(usable);
  });

  test("is reached when the tokens in use reach it, not before, and never where it is unknown or switched off", () => {
    const limits = { context: 1_000, output: 100 };
    const policy = { auto: true };
    expect(isOverflow({ used: 899, limits, policy })).toBe(false);
    expect(isOverflow({ used: 900, limits, policy })).toBe(true);
    expect(isOverflow({ used: 5_000, limits: null, policy })).toBe(false);
    expect(isOverflow({ used: 5_000, limits, policy: { auto: false } })).toBe(false);
  });
});

const user = (id: number, size = 10): Entry => ({ type: "user", id: `user:${id}`, text: "u".repeat(size), parts: [] });
const step = (id: number, size = 10): Entry => ({
  type: "step",
  id: `msg_${id}`,
  content: [{ type: "text", text: "s".repeat(size) }],
  answers: [],
});
const ids = (entries: readonly Entry[]): string[] => entries.map(({ id }) => id);

describe("the cut", () => {
  test("keeps the newest entries that fit", () => {
    const cut = chooseCut([user(1, 400), step(2, 400), user(2, 400), step(3, 400)], 220);
    expect(ids(cut?.head ?? [])).toEqual(["user:1", "msg_2"]);
    expect(ids(cut?.tail ?? [])).toEqual(["user:2", "msg_3"]);
  });

  test("keeps a question the model has not seen, whatever its size", () => {
    const cut = chooseCut([user(1), step(2), user(2, 100_000)], 10);
    expect(ids(cut?.tail ?? [])).toEqual(["user:2"]);
  });

  test("moves forward when everything would fit: something must be won", () => {
    expect(chooseCut([user(1), step(2)], 10_000)).toMatchObject({ tail: [] });
    expect(chooseCut([user(1), step(2), user(2)], 10_000)?.tail).toEqual([user(2)]);
  });

  test("is none where there is nothing but the question, or only a summary", () => {
    expect(chooseCut([user(1)], 10_000)).toBeNull();
    expect(chooseCut([], 10_000)).toBeNull();
    const summary: Entry = { type: "summary", id: "cmp_1", text: "before" };
    expect(chooseCut([summary, user(1)], 10_000)).toBeNull();
    expect(ids(chooseCut([summary, step(2)], 0)?.head ?? [])).toEqual(["cmp_1", "msg_2"]);
  });

  test("loses nothing and shortens what the model sees", () => {
    const entries = fc.array(
      fc.record({ isUser: fc.boolean(), size: fc.nat(5_000) }).map(({ isUser, size }) => ({ isUser, size })),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(entries, fc.nat(5_000), (specs, budget) => {
        const all = specs.map(({ isUser, size }, index) => (isUser ? user(index, size) : step(index, size)));
        const cut = chooseCut(all, budget);
        if (cut === null) return;
        expect([...cut.head, ...cut.tail]).toEqual(all);
        expect(cut.head.length).toBeGreaterThan(0);
        const last = all.at(-1);
        if (last?.type === "user") expect(cut.tail.at(-1)).toBe(last);
        const seen = cut.tail.filter((entry) => !isUnseen(all, entry));
        expect(seen.reduce((sum, entry) => sum + estimateEntry(entry), 0)).toBeLessThanOrEqual(budget);
      }),
    );
  });

  const isUnseen = (all: readonly Entry[], entry: Entry): boolean =>
    all.slice(all.indexOf(entry)).every(({ type }) => type === "user");
});

describe("the text that stands for the head", () => {
  const asked = (id: number, words: string): Entry => ({ type: "user", id: `user:${id}`, text: words, parts: [] });
  const working = (id: number): Entry => ({
    ...step(id),
    type: "step",
    content: [],
    answers: [{ call_id: "c", tool: "read", output: "", is_error: false }],
  });
  const textFor = (head: readonly Entry[], tail: readonly Entry[]): string => {
    const entry = summaryEntry({ id: "cmp_1", cut: { head, tail }, summary: "It went well." });
    return entry.type === "summary" ? entry.text : "";
  };

  test("keeps a request in progress word for word", () => {
    expect(textFor([asked(1, "Paint it blue"), working(2)], [working(3)])).toContain("Paint it blue");
    expect(textFor([asked(1, "Paint it blue"), working(2)], [asked(2, "and quickly")])).toContain("Paint it blue");
  });

  test("leaves what was answered to the summary", () => {
    expect(textFor([asked(1, "Paint it blue"), working(2), step(3)], [])).not.toContain("Paint it blue");
    expect(textFor([asked(1, "Paint it blue")], [step(2), asked(2, "Now red")])).not.toContain("Paint it blue");
    const twice = textFor([asked(1, "Paint it blue"), step(2), asked(2, "Now red"), working(3)], []);
    expect(twice).toContain("Now red");
    expect(twice).not.toContain("Paint it blue");
  });
});

test("the tail's budget is a quarter of the window, within bounds", () => {
  const policy = { auto: true };
  expect(tailBudget({ context: 200_000, output: 32_000 }, policy)).toBe(15_000);
  expect(tailBudget({ context: 24_000, output: 4_000 }, policy)).toBe(5_000);
  expect(tailBudget({ context: 4_000, output: 1_000 }, policy)).toBe(2_000);
  expect(tailBudget(null, { auto: true, tail: 7 })).toBe(7);
});

test("what is asked for the summary fits its bound and keeps both ends", () => {
  const head = Array.from({ length: 200 }, (_, index) => user(index, 1_000));
  const prompt = summaryPrompt({ head, context: ["Mind the tests."], prompt: null, limit: 5_000 });
  expect(prompt.length).toBeLessThan(5_300);
  expect(prompt).toContain("Mind the tests.");
  expect(prompt).toContain("left out");
});

const SUMMARY = "Goal: look around. Done: listed the folder.";
/** The summary is asked for without tools; everything else is the main conversation. */
const scriptWith = (
  turns: readonly ScriptTurn[],
  summaries: readonly ScriptTurn[] = [answer(text(SUMMARY))],
): Script => ({
  turns,
  side: [{ name: "summary", match: { systemContains: "condense the history" }, turns: summaries }],
});
const limits = { "test-model": { context: 1_000, output: 100 } };
const tooLong: ScriptTurn = {
  type: "status",
  status: 400,
  code: "context_length_exceeded",
  message: "prompt is too long: 1200 tokens > 1000 maximum",
};
const big = (blocks: Extract<ScriptTurn, { type: "answer" }>["blocks"]): ScriptTurn => ({
  type: "answer",
  blocks,
  usage: { input: 950, output: 10 },
});

describe.each(providers)("%s", (provider) => {
  test("by tokens: condenses, goes on with the same turn, and the model sees the summary", async () => {
    const house = await openHouse(scriptWith([big([call("list", {})]), answer(text("Found it."))]), {
      provider,
      config: { limits, compaction: { tail: 0 } },
    });
    const events = await house.turn("Look for the needle");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["Found it."]);
    expect(statesIn(events)).toEqual(["compacting", "running"]);
    const [, summary, after] = house.requests;
    expect(summary).toMatchObject({ conversation: "summary", tools: [] });
    expect(summary?.messages).toContain("Look for the needle");
    expect(after?.messages).toContain(SUMMARY);
    expect(after?.messages).toContain("Look for the needle");
    const system = of(events, "item.completed").filter(({ data }) => data.item.kind === "system");
    expect(JSON.stringify(system[0]?.data.item.content)).toContain(SUMMARY);
  });

  test("by the provider's own error: condenses and tries again", async () => {
    const house = await openHouse(scriptWith([answer(text("First answer.")), tooLong, answer(text("Now it fits."))]), {
      provider,
    });
    await house.turn("first question");
    const events = await house.turn("second question");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["Now it fits."]);
    const last = house.requests.at(-1)?.messages ?? "";
    expect(last).toContain(SUMMARY);
    expect(last).toContain("second question");
    expect(last).not.toContain("First answer.");
  });

  test("an overflow that compaction cannot cure ends with a clear error, after one compaction", async () => {
    const house = await openHouse(scriptWith([answer(text("First answer.")), tooLong]), { provider });
    await house.turn("first question");
    const events = await house.turn("second question");
    expect(endOf(events)).toMatchObject({ reason: "error", code: "context_overflow" });
    expect(endOf(events).message).toContain("even after it was compacted");
    expect(house.requests.filter(({ conversation }) => conversation === "summary")).toHaveLength(1);
    expect(of(events, "turn.ended")).toHaveLength(1);
  });
});

test("tokens that stay above the limit: one compaction, then a clear error", async () => {
  const house = await openHouse(scriptWith([big([call("list", {})])]), { config: { limits, compaction: { tail: 0 } } });
  const events = await house.turn("for ever");
  expect(endOf(events)).toMatchObject({ reason: "error", code: "context_overflow" });
  expect(house.requests.map(({ conversation }) => conversation)).toEqual(["main", "summary", "main"]);
});

test("after a productive step it may compact again", async () => {
  const small = (blocks: Extract<ScriptTurn, { type: "answer" }>["blocks"]): ScriptTurn => ({ type: "answer", blocks });
  const house = await openHouse(
    scriptWith([
      big([call("list", {})]),
      small([call("list", { depth: 2 })]),
      big([call("list", { depth: 1 })]),
      small([text("ok")]),
    ]),
    { config: { limits, compaction: { tail: 0 } } },
  );
  const events = await house.turn("long work");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(statesIn(events)).toEqual(["compacting", "running", "compacting", "running"]);
});

test("a finished answer that filled the window is still the answer: no step is added to it", async () => {
  const house = await openHouse(scriptWith([big([text("All done.")]), answer(text("Next."))]), { config: { limits } });
  const events = await house.turn("work");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(saidIn(events)).toEqual(["All done."]);
  expect(house.requests.map(({ conversation }) => conversation)).toEqual(["main", "summary"]);
  await house.turn("next question");
  expect(house.requests.at(-1)?.messages).toContain(SUMMARY);
});

test("a question that is too long by itself cannot be compacted, and the error says so", async () => {
  const house = await openHouse(scriptWith([tooLong]));
  const end = endOf(await house.turn("x".repeat(10_000)));
  expect(end).toMatchObject({ reason: "error", code: "context_overflow" });
  expect(end.message).toContain("prompt is too long");
  expect(house.requests).toHaveLength(1);
});

test("with automatic compaction off, the provider's error is the end", async () => {
  const house = await openHouse(scriptWith([answer(text("one")), tooLong]), {
    config: { compaction: { auto: false } },
  });
  await house.turn("first");
  const end = endOf(await house.turn("second"));
  expect(end).toMatchObject({ reason: "error", code: "context_overflow" });
  expect(end.message).toContain("automatic compaction is off");
});

test("a summary that fails passingly is tried again, and an abort ends it", async () => {
  const house = await openHouse(
    scriptWith(
      [answer(text("First.")), tooLong, answer(text("Second."))],
      [{ type: "status", status: 503 }, answer(text(SUMMARY))],
    ),
  );
  await house.turn("one");
  const events = await house.turn("two");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(statesIn(events)).toEqual(["compacting", "retrying", "compacting", "running"]);
});

test("an abort in the middle of a compaction ends the turn", async () => {
  const house = await openHouse(scriptWith([answer(text("First.")), tooLong], [{ type: "silence" }]));
  await house.turn("one");
  const events = await house.turn("two", async (event) => {
    if (event.type === "turn.state" && event.data.state === "compacting") {
      await house.sessions.abort(house.id, { clearQueue: false });
    }
  });
  expect(endOf(events)).toEqual({ reason: "aborted" });
});

test("on request, between turns: a turn of its own, and the next prompt goes on from the summary", async () => {
  const house = await openHouse(scriptWith([answer(text("Lots of talk.")), answer(text("Yes."))]));
  await house.turn("talk");
  const before = (await house.log()).at(-1)?.sequence ?? 0;
  await house.sessions.compact(house.id);
  const events = await untilTurnEnds(house, before);
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(statesIn(events)).toEqual(["compacting", "running"]);
  await house.turn("are you there?");
  const last = house.requests.at(-1)?.messages ?? "";
  expect(last).toContain(SUMMARY);
  expect(last).not.toContain("Lots of talk.");
});

test("plugins may add to what the summary considers", async () => {
  const house = await openHouse(scriptWith([answer(text("First.")), tooLong, answer(text("Second."))]), {
    hooks: {
      has: (hook) => hook === "experimental.session.compacting",
      async trigger(_hook, _input, output) {
        if (typeof output === "object" && "context" in output) output.context.push("Remember the password policy.");
        return output;
      },
    },
  });
  await house.turn("one");
  await house.turn("two");
  const summary = house.requests.find(({ conversation }) => conversation === "summary");
  expect(summary?.messages).toContain("Remember the password policy.");
});

async function untilTurnEnds(house: Awaited<ReturnType<typeof openHouse>>, after: number) {
  const events = [];
  for await (const group of house.sessions.follow(house.id, { after, signal: AbortSignal.timeout(10_000) })) {
    for (const event of group.events()) {
      events.push(event);
      if (event.type === "turn.ended") return events;
    }
  }
  throw new Error("no turn ended");
}

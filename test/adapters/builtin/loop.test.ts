/** The loop against scripted model servers, with the real provider packages over real HTTP. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Finish } from "../../../src/model-server/script.ts";
import {
  answer,
  call,
  endOf,
  of,
  openHouse,
  type ProviderName,
  providers,
  resultsIn,
  saidIn,
  text,
} from "../../support/builtin.ts";
import { chatChunk, serveRaw, unfinishedMessage } from "../../support/raw-model.ts";

describe.each(providers)("%s", (provider) => {
  test("works through several steps with tools, edits a file and knows when it is done", async () => {
    const house = await openHouse(
      [
        answer(text("I read it.", 3), call("read", { filePath: "README.md" })),
        answer(call("edit", { filePath: "README.md", oldString: "two", newString: "two\nthree" })),
        answer(text("Done!", 2)),
      ],
      { provider },
    );
    writeFileSync(join(house.directory, "README.md"), "one\ntwo\n");
    const events = await house.turn("Read README.md and add a line at the end");

    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(readFileSync(join(house.directory, "README.md"), "utf8")).toBe("one\ntwo\nthree\n");
    expect(saidIn(events)).toEqual(["I read it.", "Done!"]);
    expect(resultsIn(events).map(({ is_error }) => is_error)).toEqual([false, false]);
    expect(house.requests).toHaveLength(3);
    expect(of(events, "usage.updated").map(({ data }) => data.step?.finish)).toEqual([
      "tool-calls",
      "tool-calls",
      "stop",
    ]);
    expect(house.requests[2]?.messages).toContain("three");
  });

  test.each<[Finish, string]>([
    ["stop", "completed"],
    ["length", "length"],
    ["refusal", "refusal"],
  ])("finish %s ends the turn as %s", async (finish, reason) => {
    const house = await openHouse([{ type: "answer", blocks: [text("So far.")], finish }], { provider });
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason });
    expect(saidIn(events)).toEqual(["So far."]);
    expect(house.requests).toHaveLength(1);
  });

  test("a provider that says stop although it called a tool goes on", async () => {
    const house = await openHouse(
      [
        { type: "answer", blocks: [call("write", { filePath: "a.txt", content: "a" })], finish: "stop" },
        answer(text("Written.")),
      ],
      { provider },
    );
    const events = await house.turn("write it");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(existsSync(join(house.directory, "a.txt"))).toBe(true);
    expect(saidIn(events)).toEqual(["Written."]);
  });

  test("usage is split the same way for every provider and adds up over the steps", async () => {
    const usage = { input: 100, output: 20, reasoning: 5, cacheRead: 40, cacheWrite: 0 };
    const house = await openHouse(
      [
        { type: "answer", blocks: [call("list", {})], usage },
        { type: "answer", blocks: [text("ok")], usage },
      ],
      { provider },
    );
    const events = await house.turn("look");
    const [end] = of(events, "turn.ended");
    const { tokens } = end?.data.usage ?? {};
    expect(tokens?.cache_read).toBe(80);
    expect(tokens?.input).toBe(200);
    expect((tokens?.output ?? 0) + (tokens?.reasoning ?? 0)).toBe(50);
  });

  test("reasoning is said as reasoning", async () => {
    const house = await openHouse([answer({ type: "thinking", text: "Let me think.", chunks: 2 }, text("Thought."))], {
      provider,
    });
    const events = await house.turn("think");
    const reasoning = of(events, "item.completed").flatMap(({ data: { item } }) =>
      item.content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])),
    );
    expect(reasoning).toEqual(["Let me think."]);
    expect(saidIn(events)).toEqual(["Thought."]);
  });
});

test.each<ProviderName>(["openai", "openai-compatible"])(
  "%s: the provider's filter is no refusal",
  async (provider) => {
    const house = await openHouse([{ type: "answer", blocks: [text("I")], finish: "content_filter" }], { provider });
    expect(endOf(await house.turn("hello"))).toEqual({ reason: "content_filter" });
  },
);

test("google: a step with a tool, then the answer", async () => {
  const usageMetadata = {
    promptTokenCount: 30,
    candidatesTokenCount: 4,
    totalTokenCount: 34,
    cachedContentTokenCount: 10,
  };
  const chunk = (parts: unknown[]) => ({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata,
  });
  const { url, count } = await serveRaw([
    [chunk([{ functionCall: { name: "write", args: { filePath: "g.txt", content: "g" } } }])],
    [chunk([{ text: "Written." }])],
  ]);
  const provider = { google: { kind: "google", baseURL: url, apiKey: "key" } };
  const house = await openHouse([], { config: { model: "google/gemini-test", provider } });
  const events = await house.turn("write it");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(existsSync(join(house.directory, "g.txt"))).toBe(true);
  expect(saidIn(events)).toEqual(["Written."]);
  expect(count()).toBe(2);
  expect(of(events, "turn.ended")[0]?.data.usage.tokens).toMatchObject({ input: 40, cache_read: 20, output: 8 });
});

describe("an answer that does not say why it ended", () => {
  const houseFor = (provider: ProviderName, baseUrl: string) => openHouse([], { provider, baseUrl });

  test.each<[ProviderName, unknown[]]>([
    ["anthropic", unfinishedMessage()],
    ["openai-compatible", [chatChunk({ role: "assistant", content: "" })]],
  ])("%s: without output it is asked once more, then the turn ends with an error", async (provider, body) => {
    const { url, count } = await serveRaw([body]);
    const house = await houseFor(provider, url);
    expect(endOf(await house.turn("hello"))).toMatchObject({ reason: "error", code: "no_answer" });
    expect(count()).toBe(2);
  });

  test("without output, and then with one: the turn is complete", async () => {
    const { url, count } = await serveRaw([
      [chatChunk({ role: "assistant", content: "" })],
      [chatChunk({ role: "assistant", content: "Here." }), chatChunk({}, "stop")],
    ]);
    const house = await houseFor("openai-compatible", url);
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["Here."]);
    expect(count()).toBe(2);
  });

  test.each<[ProviderName, unknown[]]>([
    ["anthropic", unfinishedMessage("An answer.")],
    ["openai-compatible", [chatChunk({ role: "assistant", content: "An answer." })]],
  ])("%s: with output it is the answer", async (provider, body) => {
    const { url, count } = await serveRaw([body]);
    const house = await houseFor(provider, url);
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["An answer."]);
    expect(count()).toBe(1);
  });

  test("a reason nobody knows ends the turn", async () => {
    const { url } = await serveRaw([[chatChunk({ role: "assistant", content: "Odd." }), chatChunk({}, "whatever")]]);
    const house = await houseFor("openai-compatible", url);
    expect(endOf(await house.turn("hello"))).toEqual({ reason: "completed" });
  });
});

describe("steps", () => {
  test("parallel tools run together, and their results come back in the order of the calls", async () => {
    // Each waits for the other's file: one after the other they would never end.
    const waitFor = (mine: string, other: string) =>
      `touch ${mine}; until [ -e ${other} ]; do sleep 0.01; done; echo ${mine}`;
    const house = await openHouse([
      answer(
        call("bash", { command: waitFor("a", "b"), timeout: 20_000 }, "call_a"),
        call("bash", { command: waitFor("b", "a"), timeout: 20_000 }, "call_b"),
      ),
      answer(text("Both.")),
    ]);
    const events = await house.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    const messages = house.requests[1]?.messages ?? "";
    expect(messages.indexOf('"tool_use_id":"call_a"')).toBeGreaterThan(0);
    expect(messages.indexOf('"tool_use_id":"call_a"')).toBeLessThan(messages.indexOf('"tool_use_id":"call_b"'));
  });

  test("edits of one file in one step are made one after the other", async () => {
    const edit = (oldString: string, newString: string) => call("edit", { filePath: "n.txt", oldString, newString });
    const house = await openHouse([answer(edit("1", "one"), edit("2", "two"), edit("3", "three")), answer(text("ok"))]);
    writeFileSync(join(house.directory, "n.txt"), "1 2 3\n");
    await house.turn("spell");
    expect(readFileSync(join(house.directory, "n.txt"), "utf8")).toBe("one two three\n");
  });

  test("a call id that a provider uses twice names two items", async () => {
    const house = await openHouse([
      answer(call("list", {}, "call_1")),
      answer(call("list", { path: "." }, "call_1")),
      answer(text("ok")),
    ]);
    const events = await house.turn("look");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(resultsIn(events)).toHaveLength(2);
  });

  test("a tool that does not exist and an input that does not fit are reported to the model, which continues", async () => {
    const house = await openHouse([
      answer(call("teleport", { to: "Mars" }), call("read", { offset: 3 })),
      answer(text("I see.")),
    ]);
    const events = await house.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    const [first, second] = resultsIn(events);
    expect(first?.output).toContain('no tool "teleport"');
    expect(second?.output).toContain("filePath");
    expect(house.requests[1]?.messages).toContain("no tool");
  });

  test("at the step limit the last step has no tools, and the turn ends as max_steps", async () => {
    const house = await openHouse([answer(call("list", {}))], { config: { maxSteps: 3 } });
    const events = await house.turn("for ever");
    expect(endOf(events)).toEqual({ reason: "max_steps" });
    expect(house.requests.map(({ tools }) => tools.length > 0)).toEqual([true, true, false]);
  });

  test("what is steered into the turn is seen by the model in the same turn", async () => {
    const house = await openHouse([answer(call("bash", { command: "true" })), answer(text("Both done."))], {
      mode: "default",
    });
    const events = await house.turn("go", async (event) => {
      if (event.type !== "permission.requested") return;
      await house.sessions.prompt(house.id, { text: "And now this", delivery: "steer" });
      await house.sessions.replyPermission(house.id, event.data.permission_id, { reply: "once" });
    });
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["Both done."]);
    expect(house.requests).toHaveLength(2);
    expect(house.requests[1]?.messages).toContain("And now this");
    expect(of(events, "turn.started")).toHaveLength(1);
  });

  test("a message steered while the last answer is being written keeps the turn going", async () => {
    const house = await openHouse([
      { type: "answer", blocks: [text("Slowly, slowly.", 10)], fault: { type: "hang", afterChunks: 5 } },
      answer(text("As you wish.")),
    ]);
    let steered = false;
    const events = await house.turn("go", async (event) => {
      if (event.type !== "item.delta" || steered) return;
      steered = true;
      await house.sessions.prompt(house.id, { text: "Stop that", delivery: "steer" });
      await house.sessions.abort(house.id, { clearQueue: false });
    });
    // Aborted: what was steered is part of the conversation, and the next turn sees it.
    expect(endOf(events)).toEqual({ reason: "aborted" });
    await house.turn("go on");
    expect(house.requests[1]?.messages).toContain("Stop that");
    expect(house.requests[1]?.messages).toContain("Slowly");
  });
});

/** What a session does around its loop: aborts, children, plugins, instructions, attachments, changes in the middle. */
import { getEventListeners } from "node:events";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../../src/builtin/index.ts";
import { serveAnthropic } from "../../../src/model-server/anthropic.ts";
import type { Script } from "../../../src/model-server/script.ts";
import { processTable } from "../../../src/runtime/agent/process-table.ts";
import { answer, call, endOf, type House, of, openHouse, resultsIn, saidIn, text } from "../../support/builtin.ts";

const isAlive = (pid: number): boolean =>
  processTable.list(performance.now()).some((info) => info.pid === pid && !info.zombie);

/** Runs a command that never ends, and calls back with its pid once it runs. */
async function withCommand(house: House, work: (pid: number) => Promise<void>) {
  let told = false;
  return house.turn("run it", async (event) => {
    if (event.type !== "item.delta" || event.data.part !== "tool_output" || told) return;
    told = true;
    await work(Number(readFileSync(join(house.directory, "pid"), "utf8")));
  });
}
const endless = "echo $$ > pid; echo running; while :; do sleep 0.1; done";

describe("abort", () => {
  test("a turn that is over listens no more", async () => {
    const house = await openHouse([answer(text("One.")), answer(text("Two.")), answer(text("Three."))]);
    const counts: number[] = [];
    for (const words of ["one", "two", "three"]) {
      await house.turn(words);
      counts.push(...house.signals.map((signal) => getEventListeners(signal, "abort").length));
    }
    expect(counts).toEqual([0, 0, 0]);
  });

  test("while a tool runs: its process is gone, the turn is aborted, the conversation lives", async () => {
    const house = await openHouse([answer(call("bash", { command: endless })), answer(text("Yes."))]);
    let pid = 0;
    const events = await withCommand(house, async (running) => {
      pid = running;
      expect(isAlive(pid)).toBe(true);
      await house.sessions.abort(house.id, { clearQueue: false });
    });
    expect(endOf(events)).toEqual({ reason: "aborted" });
    expect(of(events, "turn.ended")[0]?.data.evidence).toBe("signal");
    expect(isAlive(pid)).toBe(false);
    expect(resultsIn(events)[0]?.is_error).toBe(true);
    expect(endOf(await house.turn("still there?"))).toEqual({ reason: "completed" });
    expect(house.requests[1]?.messages).toContain("(stopped)");
  });

  test("while a person is asked: the request is resolved and nothing runs", async () => {
    const house = await openHouse([answer(call("bash", { command: "touch made" }))], { mode: "default" });
    const events = await house.turn("go", async (event) => {
      if (event.type === "permission.requested") await house.sessions.abort(house.id, { clearQueue: false });
    });
    expect(endOf(events)).toEqual({ reason: "aborted" });
    expect(of(events, "permission.resolved").map(({ data }) => data.status)).toEqual(["reject"]);
    expect(existsSync(join(house.directory, "made"))).toBe(false);
  });

  test("while idle: nothing happens", async () => {
    const house = await openHouse([answer(text("Hello."))]);
    await house.turn("hi");
    const before = (await house.log()).length;
    await house.sessions.abort(house.id, { clearQueue: false });
    expect((await house.log()).length).toBe(before);
  });

  test("a session that is terminated takes its processes with it", async () => {
    const house = await openHouse([answer(call("bash", { command: endless }))]);
    let pid = 0;
    await withCommand(house, async (running) => {
      pid = running;
      await house.sessions.terminate(house.id);
    });
    expect(isAlive(pid)).toBe(false);
  });
});

describe("a task", () => {
  const script: Script = {
    turns: [
      answer(
        text("I send someone."),
        call("task", { description: "Count files", prompt: "Count the files here." }, "call_t"),
      ),
      answer(text("There is one.")),
    ],
    side: [
      {
        name: "child",
        match: { systemContains: "You are a helper of another agent" },
        turns: [answer(text("I look."), call("list", {}, "call_t")), answer(text("One file: a.txt."))],
      },
    ],
  };

  test("is a child with its own conversation; its items and usage are the session's", async () => {
    const house = await openHouse(script);
    writeFileSync(join(house.directory, "a.txt"), "");
    const events = await house.turn("How many files?");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["I send someone.", "There is one."]);
    expect(resultsIn(events).at(-1)?.output).toBe("One file: a.txt.");

    const ofChild = of(events, "item.completed").filter(({ data }) => data.item.subagent !== undefined);
    expect(ofChild.map(({ data }) => data.item.kind)).toEqual([
      "message",
      "tool_call",
      "tool_result",
      "message",
      "status",
    ]);
    expect(ofChild[0]?.data.item.subagent).toMatchObject({ parent_call_id: "call_t", name: "general" });
    expect(of(events, "usage.updated")).toHaveLength(4);

    const [, child] = house.requests;
    expect(child?.tools).not.toContain("task");
    expect(child?.tools).not.toContain("question");
    expect(child?.messages).toContain("Count the files here.");
    expect(child?.messages).not.toContain("How many files?");
    expect(house.requests.at(-1)?.messages).not.toContain("I look.");
  });

  test("a no inside the child is a no to the turn", async () => {
    const house = await openHouse(
      {
        ...script,
        side: [
          { name: "child", match: { systemContains: "helper" }, turns: [answer(call("bash", { command: "touch x" }))] },
        ],
      },
      { mode: "default", config: { permission: { task: "allow" } } },
    );
    const events = await house.turn("go", async (event) => {
      if (event.type !== "permission.requested") return;
      await house.sessions.replyPermission(house.id, event.data.permission_id, { reply: "reject" });
    });
    expect(endOf(events)).toEqual({ reason: "rejected" });
    expect(existsSync(join(house.directory, "x"))).toBe(false);
  });

  test("an abort ends the child and its processes", async () => {
    const house = await openHouse({
      ...script,
      side: [
        { name: "child", match: { systemContains: "helper" }, turns: [answer(call("bash", { command: endless }))] },
      ],
    });
    let pid = 0;
    const events = await withCommand(house, async (running) => {
      pid = running;
      await house.sessions.abort(house.id, { clearQueue: false });
    });
    expect(endOf(events)).toEqual({ reason: "aborted" });
    expect(isAlive(pid)).toBe(false);
    const status = of(events, "item.completed").find(({ data }) => data.item.kind === "status");
    expect(status?.data.item.status).toBe("failed");
  });

  test("a child that fails is told to the parent, which goes on", async () => {
    const house = await openHouse({
      ...script,
      side: [{ name: "child", match: { systemContains: "helper" }, turns: [{ type: "status", status: 401 }] }],
    });
    const events = await house.turn("go");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(resultsIn(events)[0]?.output).toContain("The helper ended with error");
  });
});

/** Hooks as a plugin would have them. */
const hooksWith = (table: Record<string, (input: object, output: Record<string, unknown>) => void>): Hooks => ({
  has: (hook) => hook in table,
  async trigger(hook, input, output) {
    const copy = structuredClone(output);
    const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
    if (isRecord(copy)) table[hook]?.(input, copy);
    return copy;
  },
});

describe("plugins", () => {
  test("a text is held back while a plugin may change it, and said as one", async () => {
    const seen: object[] = [];
    const house = await openHouse([answer(text("a secret word", 5)), answer(text("again"))], {
      hooks: hooksWith({
        "experimental.text.complete": (input, output) => {
          seen.push(input);
          output.text = String(output.text).replace("secret", "public");
        },
      }),
    });
    const events = await house.turn("speak");
    expect(saidIn(events)).toEqual(["a public word"]);
    expect(of(events, "item.delta").map(({ data }) => data.delta)).toEqual(["a public word"]);
    expect(seen).toEqual([{ sessionID: "s", messageID: "msg_1", partID: "msg_1/0" }]);
    await house.turn("what did you say?");
    expect(house.requests[1]?.messages).toContain("a public word");
  });

  test("without such a plugin texts are streamed", async () => {
    const house = await openHouse([answer(text("piece by piece", 5))], { hooks: hooksWith({}) });
    expect(of(await house.turn("speak"), "item.delta").length).toBe(5);
  });

  test("what a failed try had said is not said when it was held back", async () => {
    const house = await openHouse(
      [
        { type: "answer", blocks: [text("half", 4)], fault: { type: "cut", afterChunks: 2 }, chunkDelayMs: 2 },
        answer(text("whole")),
      ],
      { hooks: hooksWith({ "experimental.text.complete": () => {} }) },
    );
    const events = await house.turn("speak");
    expect(of(events, "item.delta").map(({ data }) => data.delta)).toEqual(["whole"]);
  });

  test("tools: arguments before, output after", async () => {
    const house = await openHouse([answer(call("bash", { command: "echo asked" })), answer(text("ok"))], {
      hooks: hooksWith({
        "tool.execute.before": (_input, output) => {
          output.args = { command: "echo changed" };
        },
        "tool.execute.after": (input, output) => {
          output.output = `${String(output.output).trim()} and seen (${"tool" in input ? input.tool : ""})`;
        },
      }),
    });
    const events = await house.turn("go");
    expect(resultsIn(events)[0]?.output).toBe("changed and seen (bash)");
    expect(house.requests[1]?.messages).toContain("changed and seen");
  });
});

describe("instructions", () => {
  test("AGENTS.md and CLAUDE.md from the repository's top to the directory, and the facts of the place", async () => {
    const house = await openHouse([answer(text("ok"))], { create: { systemPrompt: "Speak like a pirate." } });
    const { directory } = house;
    writeFileSync(join(directory, "AGENTS.md"), "Use tabs.");
    symlinkSync("AGENTS.md", join(directory, "CLAUDE.md"));
    await house.turn("hi");
    const { system = "" } = house.requests[0] ?? {};
    expect(system).toContain("Use tabs.");
    expect(system.split("Use tabs.")).toHaveLength(2);
    expect(system).toContain(`Working directory: ${directory}`);
    expect(system).toContain("Speak like a pirate.");
  });

  test("files above count only inside the repository, and a link out of it is not followed", async () => {
    const outer = await openHouse([answer(text("ok"))]);
    const inner = join(outer.directory, "packages", "app");
    mkdirSync(inner, { recursive: true });
    mkdirSync(join(outer.directory, ".git"));
    writeFileSync(join(outer.directory, "AGENTS.md"), "From the top.");
    symlinkSync("/etc/passwd", join(inner, "AGENTS.md"));
    writeFileSync(join(inner, "CLAUDE.md"), "From the app.");
    const house = await openHouse([answer(text("ok"))], { directory: inner });
    await house.turn("hi");
    const { system = "" } = house.requests[0] ?? {};
    expect(system.indexOf("From the top.")).toBeLessThan(system.indexOf("From the app."));
    expect(system).toContain("From the top.");
    expect(system).not.toContain("root:");
    expect(system).toContain("Git repository: yes");
  });
});

test("attachments: pictures as pictures, texts as text, what cannot be read is said", async () => {
  const house = await openHouse([answer(text("Nice."))]);
  const pixel = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  writeFileSync(join(house.directory, "dot.png"), pixel);
  mkdirSync(join(house.directory, "folder"));
  writeFileSync(join(house.directory, "notes.txt"), "remember the milk");
  const { sequence } = await house.sessions.prompt(house.id, {
    text: "look",
    attachments: [{ path: "dot.png" }, { path: "notes.txt" }, { path: "folder" }],
  });
  for await (const group of house.sessions.follow(house.id, { after: sequence, signal: AbortSignal.timeout(10_000) })) {
    if (group.notable().some(({ type }) => type === "turn.ended")) break;
  }
  const { messages = "" } = house.requests[0] ?? {};
  expect(messages).toContain('"media_type":"image/png"');
  expect(messages).toContain("remember the milk");
  expect(messages).toContain("folder could not be read: it is no regular file");
});

test("todos are told as they change", async () => {
  const todos = [
    { content: "one", status: "completed" },
    { content: "two", status: "pending", priority: "high" },
  ];
  const house = await openHouse([answer(call("todowrite", { todos })), answer(text("ok"))]);
  const events = await house.turn("plan");
  expect(of(events, "todo.updated")[0]?.data.todos).toEqual([
    { id: "1", content: "one", status: "completed" },
    { id: "2", content: "two", status: "pending", priority: "high" },
  ]);
});

test("the model may be changed between turns", async () => {
  const house = await openHouse([answer(text("a")), answer(text("b"))]);
  await house.turn("one");
  await house.sessions.update(house.id, { model: "anthropic/other-model" });
  await house.turn("two");
  expect(house.requests.map(({ model }) => model)).toEqual(["test-model", "other-model"]);
});

test("prompts while busy are queued and run in order", async () => {
  const house = await openHouse([answer(text("a")), answer(text("b"))]);
  await house.sessions.prompt(house.id, { text: "first" });
  const events = await house.turn("second");
  expect(of(events, "turn.ended").length).toBeGreaterThan(0);
  while (house.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(house.requests[1]?.messages).toContain("first");
  expect(house.requests[1]?.messages).toContain("second");
});

test("commands get no key of a provider, neither the daemon's nor the session's", async () => {
  const server = await serveAnthropic({ turns: [answer(call("bash", { command: "env" })), answer(text("Done."))] });
  onTestFinished(() => server.close());
  const anthropic = { kind: "anthropic", baseURL: server.url, apiKeyEnv: "GATEWAY_PASS" };
  const house = await openHouse([], {
    config: { provider: { anthropic } },
    environment: { OPENAI_API_KEY: "inherited-1", AMP_API_KEY: "inherited-2", OPENAI_BASE_URL: "inherited-3" },
    create: { env: { GATEWAY_PASS: "session-1", ANTHROPIC_AUTH_TOKEN: "session-2", PROJECT_NAME: "session-3" } },
  });
  const events = await house.turn("go");
  expect(endOf(events)).toEqual({ reason: "completed" });
  const output = resultsIn(events)[0]?.output ?? "";
  expect(output).toContain("PATH=");
  expect(output).toContain("PROJECT_NAME=");
  expect(output).not.toMatch(/OPENAI|AMP_|GATEWAY|ANTHROPIC/);
});

describe("configuration that does not do", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["no model", { model: undefined, provider: {} }, "No model is set"],
    ["an unknown provider", { model: "mars/rover", provider: {} }, "names no provider"],
    ["no key", { model: "openai/gpt-5", provider: {} }, "OPENAI_API_KEY"],
  ])("%s ends the turn with a sentence that helps", async (_name, config, words) => {
    const house = await openHouse([], { config });
    const end = endOf(await house.turn("hello"));
    expect(end).toMatchObject({ reason: "error", code: "configuration" });
    expect(end.message).toContain(words);
  });
});

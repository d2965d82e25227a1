/** Hooks name what they are about by ids that the plugin's own client can use, whichever surface made the session. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { readBuiltinConfig } from "../../src/builtin/index.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import type { RecordedRequest, ScriptTurn } from "../../src/model-server/script.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import { type Logger, silentLogger } from "../../src/runtime/logger.ts";
import { answer, call, saidIn, text } from "../support/builtin.ts";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, "..", "data", "plugins", `${name}.ts.txt`), "utf8");

interface Plugged {
  readonly source: string;
  readonly turns: readonly ScriptTurn[];
  readonly create?: Partial<CreateSession>;
  readonly messages?: "turn" | "step";
  readonly logger?: Logger;
}

/** A turn of a session made on `/v1`, with the plugin loaded. */
async function play({ source, turns, create, messages = "turn", logger = silentLogger }: Plugged) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "plugin.ts"), source);
  const model = await serveAnthropic({ turns });
  onTestFinished(() => model.close());
  const provider = { anthropic: { kind: "anthropic", baseURL: model.url, apiKey: "key" } };
  const daemon = await startDaemon({
    plugins: ["./plugin.ts"],
    configFolder: folder,
    builtin: readBuiltinConfig({ model: "anthropic/test-model", provider }, { source: "test" }),
    opencodeMessages: messages,
    logger,
  });
  const session = await daemon.client.create({
    ...{ id: "made on v1", agent: "builtin", permissionMode: "bypass", directory: folder },
    ...create,
  });
  const events: UniversalEvent[] = [];
  for await (const event of session.ask("Go")) events.push(event);
  return { events, requests: model.requests, daemon };
}

const todos = (...statuses: string[]) =>
  answer(call("todowrite", { todos: statuses.map((status, index) => ({ content: `task ${index}`, status })) }));

const saidTo = ({ body }: RecordedRequest): string => JSON.stringify(body);

const seen = (name: string): unknown[] => {
  const found: unknown[] = [];
  Object.defineProperty(globalThis, name, { value: (one: unknown) => found.push(one), configurable: true });
  return found;
};

/** Asks the client about every id that a hook was given, and hands what it got to the test. */
const asking = (name: string): string => `
  export const Asking = async ({ client }) => {
    const look = async (hook, { sessionID, messageID, partID, callID }) => {
      const session = (await client.session.get({ path: { id: sessionID } })).data?.id ?? null;
      const todos = (await client.session.todo({ path: { id: sessionID } })).data?.length ?? null;
      const path = { id: sessionID, messageID };
      const message = messageID === undefined ? undefined : ((await client.session.message({ path })).data?.info.id ?? null);
      globalThis[${JSON.stringify(name)}]({ hook, sessionID, messageID, partID, callID, session, todos, message });
    };
    return {
      "experimental.text.complete": (input) => look("text", input),
      "tool.execute.before": (input) => look("before", input),
      "tool.execute.after": (input) => look("after", input),
      "turn.settle": (input) => look("settle", input),
      "turn.ended": (input) => look("ended", input),
      "permission.ask": (input, output) => {
        output.status = "allow";
        globalThis[${JSON.stringify(name)}]({ hook: "permission", id: input.id, sessionID: input.sessionID });
      },
    };
  };
`;

test.each(["turn", "step"] as const)(
  "every hook has ids that its client can use (one message per %s)",
  async (messages) => {
    const found = seen("__asked");
    const turns = [
      todos("completed"),
      answer(text("One.  \n"), call("bash", { command: "true" })),
      answer(text("Two.")),
    ];
    const { daemon } = await play({
      source: asking("__asked"),
      turns,
      messages,
      create: { permissionMode: "default" },
    });
    await vi.waitFor(() => expect(found).toContainEqual(expect.objectContaining({ hook: "ended" })), 10_000);
    const id = (await daemon.client.session("made on v1").get()).opencodeId;
    expect(id).toMatch(/^ses_/);
    const hooks = found.map((one) => Object(one));
    expect(new Set(hooks.map(({ hook }) => hook))).toEqual(
      new Set(["text", "before", "after", "permission", "settle", "ended"]),
    );
    for (const { hook, sessionID, session, todos: count } of hooks) {
      expect(sessionID).toBe(id);
      if (hook !== "permission")
        expect({ hook, session, count }).toEqual({ hook, session: id, count: expect.any(Number) });
      if (hook === "text" || hook === "settle") expect(count).toBe(1);
    }
    const texts = hooks.filter(({ hook }) => hook === "text");
    expect(texts).toHaveLength(2);
    for (const { messageID, partID, message } of texts) {
      expect(message).toBe(messageID);
      expect(partID).toMatch(/^prt_/);
    }
    expect(texts[0]?.messageID === texts[1]?.messageID).toBe(messages === "turn");
    expect(hooks.find(({ hook }) => hook === "permission")?.id).toMatch(/^per_/);
    // The part that the hook was told of is the part that stands.
    const stored = await fetch(`${daemon.url}/opencode/session/${id}/message/${texts[1]?.messageID}`);
    const part = { id: texts[1]?.partID, text: "Two." };
    expect(await stored.json()).toMatchObject({ parts: expect.arrayContaining([expect.objectContaining(part)]) });
  },
);

test("text is trimmed at its end before the hook sees it", async () => {
  const found = seen("__texts");
  const source = `export const Reading = async () => ({
    "experimental.text.complete": async (_input, output) => void globalThis.__texts(output.text),
  });`;
  const { events } = await play({ source, turns: [answer(text("  Done. \n\n"))] });
  expect(found).toEqual(["  Done."]);
  expect(saidIn(events)).toEqual(["  Done."]);
});

test("hooks that Franca does not have are named once, when the plugin is loaded", async () => {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (name, fields) => void warnings.push({ name, ...fields }) };
  const source = `export const More = async () => ({ "chat.params": () => {}, auth: {}, event: async () => {} });`;
  await play({ source, turns: [answer(text("Hello."))], logger });
  expect(warnings).toEqual([{ name: "plugin.hooks_unknown", plugin: "./plugin.ts", hooks: ["chat.params", "auth"] }]);
});

test("the documented todo enforcer runs unchanged: its reminder is in the text, and does not continue the turn", async () => {
  const turns = [todos("completed", "pending"), answer(text("I stop here."))];
  const { events, requests } = await play({ source: fixture("todo-enforcer"), turns });
  const [said] = saidIn(events).slice(-1);
  expect(said).toContain(
    "[SYSTEM REMINDER - TODO CONTINUATION]\nYou have 1 incomplete TODO items:\n- [ ] task 1 (pending)",
  );
  expect(requests).toHaveLength(2);
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
});

test("with finishTodos the same plugin's turn continues until all todos are closed", async () => {
  const turns = [
    todos("completed", "pending"),
    answer(text("I stop here.")),
    todos("completed", "completed"),
    answer(text("All done.")),
  ];
  const { events, requests } = await play({
    source: fixture("todo-enforcer"),
    turns,
    create: { finishTodos: true },
  });
  expect(requests).toHaveLength(4);
  // The model has its own words with the reminder before it, and the message that makes it continue after them.
  expect(saidTo(requests[2] ?? requests[0] ?? expect.fail())).toContain("SYSTEM REMINDER - TODO CONTINUATION");
  expect(saidIn(events).at(-1)).toBe("All done.");
  expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(1);
});

test("the documented example of a hook runs unchanged", async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  Object.defineProperty(globalThis, "__incompleteWork", { value: () => true, configurable: true });
  const { events } = await play({ source: fixture("documented-hook"), turns: [answer(text("A TODO is left."))] });
  expect(saidIn(events)).toEqual([
    "A TODO is left.\n\n[Note: Remember to track your TODOs!]\n\n[SYSTEM]: You have incomplete work. Continue!",
  ]);
});

/**
 * What prompts may carry for the real OpenCode beside words and files, notes that nobody answers, commands, and forks
 * before a message. Run by `npm run test:agents -- opencode`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listen } from "../support/opencode-client.ts";
import { calls, says } from "../support/opencode-lab.ts";
import { type Beside, besideNative } from "../support/opencode-native.ts";
import { text } from "../support/opencode-surface.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";

const lastRequest = ({ model }: Beside): string =>
  JSON.stringify(model.requests.findLast(({ conversation }) => conversation === "main")?.body);
const schema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] };

describe.skipIf(program === "")("prompts that carry more", () => {
  test("a note makes no turn: only the message, here and there", async () => {
    const beside = await besideNative({ program });
    const { franca, native, base, directory, load, begin, nativeId } = beside;
    const id = await begin();
    load(says("I know."));
    const listener = await listen(base, { directory });
    const noted = await franca.post(`/session/${id}/message`, { ...text("for your information"), noReply: true });
    expect(noted).toMatchObject({
      status: 200,
      body: { info: { role: "user" }, parts: [{ type: "text", text: "for your information" }] },
    });
    expect(await franca.post(`/session/${id}/prompt_async`, { ...text("and this"), noReply: true })).toEqual({
      status: 204,
      body: null,
    });
    const own = (await native.get(`/session/${await nativeId(id)}/message`)).body;
    const ours = (await franca.get(`/session/${id}/message`)).body;
    expect(own).toHaveLength(2);
    expect(ours.map((one: typeof noted.body) => one.info.id)).toEqual(own.map((one: typeof noted.body) => one.info.id));
    expect(noted.body.info.id).toBe(own[0].info.id);
    expect(listener.heard.some(({ event }) => /session\.(status|idle)/.test(event.type))).toBe(false);
    const answered = await franca.post(`/session/${id}/message`, text("what do you know?"));
    expect(answered.body.parts).toContainEqual(expect.objectContaining({ type: "text", text: "I know." }));
    expect(lastRequest(beside)).toContain("for your information");
    const busy = listener.heard.filter(({ event }) => event.type === "session.status");
    expect(busy.map(({ event }) => event.type === "session.status" && event.properties.status.type)).toEqual([
      "busy",
      "idle",
    ]);
  });

  test("instructions and tools reach the model", async () => {
    const beside = await besideNative({ program });
    const { franca, load, begin } = beside;
    const id = await begin();
    load(says("Arr."));
    await franca.post(`/session/${id}/message`, {
      ...text("hello"),
      system: "Speak like a pirate.",
      tools: { bash: false },
    });
    const request = lastRequest(beside);
    expect(request).toContain("Speak like a pirate.");
    expect(request).toContain('"name":"read"');
    expect(request).not.toContain('"name":"bash"');
  });

  test("an answer in the shape that was asked for, and one that is not", async () => {
    const { franca, load, begin, daemon } = await besideNative({ program });
    const id = await begin();
    load(calls({ name: "StructuredOutput", input: { answer: 42 } }), says("Just words."));
    const format = { type: "json_schema", schema };
    const answered = await franca.post(`/session/${id}/message`, { ...text("the answer?"), format });
    expect(answered.body.info.structured).toEqual({ answer: 42 });
    const [session] = await daemon.client.sessions();
    const { items } = await daemon.client.session(session?.sessionId ?? "").get();
    expect(items.flatMap(({ content }) => content)).toContainEqual({ type: "json", json: { answer: 42 } });
    const wrong = await franca.post(`/session/${id}/message`, { ...text("again"), format });
    expect(wrong.body.info.error.data.message).toContain("Model did not produce structured output");
    expect(wrong.body.info).not.toHaveProperty("structured");
  });

  test("a subtask runs as a child session, a mention is told to the model", async () => {
    const beside = await besideNative({ program });
    const { franca, load, begin } = beside;
    const id = await begin();
    load(says("I looked."), says("All is well."), says("Asked."));
    const subtask = { type: "subtask", prompt: "look around", description: "Look around", agent: "general" };
    await franca.post(`/session/${id}/message`, { parts: [subtask] });
    const { body: children } = await franca.get(`/session/${id}/children`);
    expect(children).toHaveLength(1);
    const { body: said } = await franca.get(`/session/${children[0].id}/message`);
    expect(JSON.stringify(said)).toContain("I looked.");
    const { body: messages } = await franca.get(`/session/${id}/message`);
    expect(JSON.stringify(messages)).toContain("All is well.");
    await franca.post(`/session/${id}/message`, {
      parts: [
        { type: "text", text: "@general help" },
        { type: "agent", name: "general", source: { value: "@general", start: 0, end: 8 } },
      ],
    });
    expect(lastRequest(beside)).toMatch(/subagent: general/);
  });

  test("a command of the project's own is OpenCode's to fill in", async () => {
    const beside = await besideNative({ program });
    const { franca, load, begin, directory } = beside;
    mkdirSync(join(directory, ".opencode", "command"), { recursive: true });
    writeFileSync(join(directory, ".opencode", "command", "greet.md"), "Say hello to $ARGUMENTS in French.\n");
    const id = await begin();
    load(says("Bonjour."));
    const answered = await franca.post(`/session/${id}/command`, { command: "greet", arguments: "Ada" });
    expect(answered.body.parts).toContainEqual(expect.objectContaining({ type: "text", text: "Bonjour." }));
    expect(lastRequest(beside)).toContain("Say hello to Ada in French.");
    const unknown = await franca.post(`/session/${id}/command`, { command: "nonsense", arguments: "" });
    expect(unknown.body.info.error.data.message).toContain("OpenCode did not take the prompt");
  });

  test("a fork before a message knows what was before it, and nothing else", async () => {
    const beside = await besideNative({ program });
    const { franca, native, load, begin, nativeId } = beside;
    const id = await begin();
    load(says("One."), says("Two."), says("Forked."));
    await franca.post(`/session/${id}/message`, text("first"));
    await franca.post(`/session/${id}/message`, text("second"));
    const { body: messages } = await franca.get(`/session/${id}/message`);
    const { body: forked } = await franca.post(`/session/${id}/fork`, { messageID: messages[2].info.id });
    await franca.post(`/session/${forked.id}/message`, text("third"));
    const request = lastRequest(beside);
    expect(request).toContain("One.");
    expect(request).toContain('"content":"third"');
    expect(request).not.toContain('"content":"second"');
    const own = (await native.get(`/session/${await nativeId(forked.id)}/message`)).body;
    expect(own.map(({ info }: (typeof own)[number]) => info.role)).toEqual(["user", "assistant", "user", "assistant"]);
    const here = (await franca.get(`/session/${forked.id}/message`)).body;
    const texts = (all: typeof own) =>
      all.map(({ info, parts }: (typeof own)[number]) => [
        info.role,
        ...parts.flatMap((part: { type: string; text?: string }) => (part.type === "text" ? [part.text] : [])),
      ]);
    expect(texts(here)).toEqual(texts(own));
    expect((await franca.post(`/session/${id}/fork`, { messageID: "msg_unknown" })).status).toBe(404);
  });
});

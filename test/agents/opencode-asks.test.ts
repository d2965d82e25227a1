/**
 * What OpenCode's clients ask beside turns, on the real OpenCode: Franca's surface and the server behind it must agree.
 * Run by `npm run test:agents -- opencode`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { items, rest, texts } from "../support/agent-turns.ts";
import { type Api, isIdle, listen } from "../support/opencode-client.ts";
import { calls, completed, expectSound, type OpenCodeLab, openLab, says } from "../support/opencode-lab.ts";
import { type Beside, besideNative, shareService } from "../support/opencode-native.ts";
import { text } from "../support/opencode-surface.ts";
import { endOf, turn, wholeLog } from "../support/sessions.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";

interface Told {
  readonly info: { readonly id: string; readonly role: string };
  readonly parts: readonly { readonly id: string; readonly type: string; readonly text?: string }[];
}

/** A conversation without what is documented to differ: parts of bookkeeping. */
const conversation = async (api: Api, id: string): Promise<unknown[]> => {
  const { body } = await api.get(`/session/${id}/message`);
  return body.map(({ info, parts }: Told) => ({
    id: info.id,
    role: info.role,
    parts: parts
      .filter(({ type }) => !["step-start", "step-finish", "patch"].includes(type))
      .map((part) => ({ id: part.id, type: part.type, text: part.text })),
  }));
};

async function agree({ franca, native, nativeId }: Beside, id: string): Promise<unknown[]> {
  const ours = await conversation(franca, id);
  expect(ours).toEqual(await conversation(native, await nativeId(id)));
  return ours;
}

const usersOf = async (api: Api, id: string): Promise<string[]> =>
  (await api.get(`/session/${id}/message`)).body
    .filter(({ info }: Told) => info.role === "user")
    .map(({ info }: Told) => info.id);

const readme = ({ directory }: Beside): string => readFileSync(join(directory, "README.md"), "utf8");
const edits = (directory: string) =>
  calls({
    name: "edit",
    input: { filePath: join(directory, "README.md"), oldString: "project.\n", newString: "project.\nOne more.\n" },
  });

describe.skipIf(program === "")("what is asked beside turns is read from a recording as it was told", () => {
  let lab: OpenCodeLab;
  beforeAll(async () => {
    lab = await openLab(program);
  });
  afterAll(() => lab?.close());

  const messageOf = (events: readonly UniversalEvent[], role: "user" | "assistant"): string =>
    items(events).find((item) => item.role === role)?.message_id ?? "";

  test("revert and the prompt after it", async () => {
    const begun = await lab.begin([says("One."), says("Two."), says("Three.")]);
    const { id } = begun;
    await turn(lab.sessions, id, "first");
    const message_id = messageOf(await turn(lab.sessions, id, "second"), "user");
    const answer = await lab.sessions.sideRequest(id, { word: "revert", message_id });
    expect(answer).toMatchObject({ status: 200, body: { revert: { messageID: message_id } } });
    await lab.sessions.sideRequest(id, { word: "unrevert" });
    expect((await lab.sessions.get(id)).revert).toBeNull();
    await lab.sessions.sideRequest(id, { word: "revert", message_id });
    expect((await lab.sessions.get(id)).revert).toMatchObject({ message_id });
    const events = await turn(lab.sessions, id, "third");
    const told = events.flatMap((event) => (event.type === "session.updated" ? [event.data] : []));
    expect(told.flatMap(({ removed = [] }) => removed)).toHaveLength(2);
    expect(told).toContainEqual(expect.objectContaining({ revert: null }));
    await expectSound(lab, begun);
  });

  test("a note, a removal, an answer of a certain shape, a subtask", async () => {
    const begun = await lab.begin([
      calls({ name: "StructuredOutput", input: { answer: 42 } }),
      says("I looked."),
      says("All is well."),
    ]);
    const { id } = begun;
    const noted = await lab.sessions.sideRequest(id, { word: "note", request: { text: "for your information" } });
    expect(noted.status).toBe(200);
    const events = await wholeLog(lab.sessions, id);
    expect(texts(events, "user")).toEqual(["for your information"]);
    expect(events.some(({ type }) => type === "turn.started")).toBe(false);
    const message_id = messageOf(events, "user");
    expect(await lab.sessions.sideRequest(id, { word: "remove", message_id })).toEqual({ status: 200, body: true });
    expect((await lab.sessions.get(id)).items).toEqual([]);
    const schema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] };
    const format = { type: "json_schema", schema };
    const asked = await lab.sessions.prompt(id, { text: "the answer?", extras: { format } });
    expect(endOf(await rest(lab.sessions, id, asked.sequence))).toEqual(completed);
    const part = { type: "subtask", prompt: "look around", description: "Look around", agent: "general" };
    const delegated = await lab.sessions.prompt(id, { text: "", extras: { subtask: [part] } });
    expect(endOf(await rest(lab.sessions, id, delegated.sequence))).toEqual(completed);
    await expectSound(lab, begun);
  });

  test("an agent that cannot be started cannot be asked, and says why", async () => {
    const { id } = await lab.begin([says("One.")], {
      env: { ...lab.environment, OPENCODE_SERVER_URL: "http://127.0.0.1:9" },
    });
    await expect(lab.sessions.sideRequest(id, { word: "share" })).rejects.toMatchObject({ code: "stream_error" });
    expect((await lab.sessions.get(id)).status).toBe("idle");
  });
});

describe.skipIf(program === "")("asked beside turns", () => {
  test("revert, unrevert, a restart, and the next prompt makes it final", async () => {
    const beside = await besideNative({ program });
    const { franca, native, base, directory, load, begin, nativeId, daemon } = beside;
    const id = await begin();
    const listener = await listen(base, { directory });
    load(edits(directory), says("Done."), says("Second answer."), says("Third answer."));
    await franca.post(`/session/${id}/message`, text("first"));
    await franca.post(`/session/${id}/message`, text("second"));
    const whole = await agree(beside, id);
    const [first = "", second = ""] = await usersOf(franca, id);

    const reverted = await franca.post(`/session/${id}/revert`, { messageID: first });
    expect(reverted.status).toBe(200);
    const own = await native.get(`/session/${await nativeId(id)}`);
    expect(reverted.body.revert).toEqual(own.body.revert);
    expect(own.body.revert).toMatchObject({ messageID: first, diff: expect.stringContaining("-One more.") });
    expect((await franca.get(`/session/${id}`)).body.revert).toEqual(own.body.revert);
    await listener.until((event) => event.type === "session.updated" && event.properties.info.revert !== undefined);
    expect(readme(beside)).not.toContain("One more.");
    expect(await agree(beside, id)).toEqual(whole);
    const [session] = await daemon.client.sessions();
    const detail = await daemon.client.session(session?.sessionId ?? "").get();
    expect(detail.revert).toMatchObject({ message_id: first });

    const back = await franca.post(`/session/${id}/unrevert`);
    expect(back.body).not.toHaveProperty("revert");
    expect(readme(beside)).toContain("One more.");
    expect((await franca.post(`/session/${id}/revert`, { messageID: second })).body.revert).toMatchObject({
      messageID: second,
    });

    const again = await beside.restart();
    expect((await again.get(`/session/${id}`)).body.revert).toMatchObject({ messageID: second });
    expect(await conversation(again, id)).toEqual(whole);
    await again.post(`/session/${id}/message`, text("third"));
    const { body: after } = await again.get(`/session/${id}`);
    expect(after).not.toHaveProperty("revert");
    const left = await conversation(again, id);
    expect(left).toEqual(await conversation(native, own.body.id));
    expect(left.slice(0, 3)).toEqual(whole.slice(0, 3));
    expect(JSON.stringify(left)).not.toContain("Second answer.");
    expect(JSON.stringify(left)).toContain("Third answer.");
  });

  test("what a prompt removes is told to those who listen, and is gone from the universal session", async () => {
    const beside = await besideNative({ program });
    const { franca, base, directory, load, begin, daemon } = beside;
    const id = await begin();
    load(says("One."), says("Two."), says("Three."));
    await franca.post(`/session/${id}/message`, text("first"));
    await franca.post(`/session/${id}/message`, text("second"));
    const [, second = ""] = await usersOf(franca, id);
    await franca.post(`/session/${id}/revert`, { messageID: second });
    const listener = await listen(base, { directory });
    await franca.post(`/session/${id}/message`, text("third"));
    await listener.until(isIdle(id));
    const removed = listener.heard.flatMap(({ event }) =>
      event.type === "message.removed" ? [event.properties.messageID] : [],
    );
    expect(removed[0]).toBe(second);
    expect(removed).toHaveLength(2);
    const types = listener.heard.map(({ event }) => event.type);
    expect(types.indexOf("message.removed")).toBeLessThan(types.indexOf("message.updated"));
    await agree(beside, id);
    const [session] = await daemon.client.sessions();
    const { items, revert } = await daemon.client.session(session?.sessionId ?? "").get();
    const said = items.flatMap(({ content }) => content.flatMap((part) => (part.type === "text" ? [part.text] : [])));
    expect(said).toEqual(["first", "One.", "third", "Three."]);
    expect(revert).toBeNull();
  });

  test("while busy: 409 as OpenCode says it; an unknown message: OpenCode's own answer", async () => {
    const beside = await besideNative({ program });
    const { franca, base, directory, load, begin } = beside;
    const id = await begin();
    load(says("One."), { type: "silence" });
    await franca.post(`/session/${id}/message`, text("first"));
    const [first = ""] = await usersOf(franca, id);
    const unknown = await franca.post(`/session/${id}/revert`, { messageID: "msg_unknown" });
    expect(unknown).toMatchObject({ status: 200, body: { id } });
    expect(unknown.body).not.toHaveProperty("revert");
    const listener = await listen(base, { directory });
    await franca.post(`/session/${id}/prompt_async`, text("second"));
    await listener.until((event) => event.type === "session.status" && event.properties.status.type === "busy");
    expect(await franca.post(`/session/${id}/revert`, { messageID: first })).toMatchObject({
      status: 409,
      body: { _tag: "SessionBusyError", sessionID: id },
    });
    await franca.post(`/session/${id}/abort`);
    expect((await franca.post(`/session/${id}/revert`, {})).status).toBe(400);
  });

  test("a message and a part are removed", async () => {
    const beside = await besideNative({ program });
    const { franca, load, begin } = beside;
    const id = await begin();
    load(says("One."), says("Two."));
    const answers = [
      await franca.post(`/session/${id}/message`, text("first")),
      await franca.post(`/session/${id}/message`, text("second")),
    ];
    expect(answers.map(({ body }) => body.info.error)).toEqual([undefined, undefined]);
    const { body: messages } = await franca.get(`/session/${id}/message`);
    const last = messages.at(-1);
    const [part] = messages[0].parts;
    expect((await franca.call("DELETE", `/session/${id}/message/${last.info.id}`)).body).toBe(true);
    const path = `/session/${id}/message/${messages[0].info.id}/part/${part.id}`;
    expect((await franca.call("DELETE", path)).body).toBe(true);
    const left = await agree(beside, id);
    expect(left).toHaveLength(3);
    expect(JSON.stringify(left)).not.toContain('"first"');
  });

  test("sharing: the address on the session, and gone again", async () => {
    const service = await shareService();
    const config = { share: "manual", enterprise: { url: service.url } };
    const beside = await besideNative({ program, config });
    const { franca, native, base, directory, load, begin, nativeId } = beside;
    const id = await begin();
    load(says("One."));
    await franca.post(`/session/${id}/message`, text("first"));
    const listener = await listen(base, { directory });
    const shared = await franca.post(`/session/${id}/share`);
    expect(shared).toMatchObject({ status: 200, body: { id, share: { url: "http://localhost/share/abc" } } });
    expect((await native.get(`/session/${await nativeId(id)}`)).body.share).toEqual(shared.body.share);
    const isShared = (event: OpenCodeEvent): boolean =>
      event.type === "session.updated" && event.properties.info.share !== undefined;
    await listener.until(isShared);
    const unshared = await franca.call("DELETE", `/session/${id}/share`);
    expect(unshared.status).toBe(200);
    expect(unshared.body).not.toHaveProperty("share");
    expect((await franca.get(`/session/${id}`)).body).not.toHaveProperty("share");
    expect(service.asked).toContain("POST /api/share");
    expect(service.asked).toContain("DELETE /api/share/abc");
  });

  test("sharing where it is switched off: OpenCode's own error", async () => {
    const beside = await besideNative({ program });
    const { franca, native, load, begin, nativeId } = beside;
    const id = await begin();
    load(says("One."));
    await franca.post(`/session/${id}/message`, text("first"));
    const refused = await franca.post(`/session/${id}/share`);
    const own = await native.post(`/session/${await nativeId(id)}/share`);
    expect(refused.status).toBe(own.status);
    expect(refused.status).toBe(500);
    expect(refused.body.name).toBe(own.body.name);
    expect((await franca.get(`/session/${id}`)).body).not.toHaveProperty("share");
  });
});

/** The event streams of OpenCode's newer API: live, replayed by page, and continued where a client was. */
import { expect, test } from "vitest";
import { listenNext, type NextHeard } from "../../support/opencode-next-client.ts";
import { openSurface } from "../../support/opencode-surface.ts";

const isIdle = ({ type }: NextHeard): boolean => type === "session.idle";
const isDurable = ({ type, durable }: NextHeard): boolean => durable !== undefined && type.startsWith("session.next.");
/** Without what a page does not have. */
const stored = ({ at: _, location: __, ...event }: NextHeard) => event;
const typesOf = (heard: readonly { readonly type: string }[]): string[] =>
  heard.map(({ type }) => type.replace("session.next.", ""));

async function converse(prompts: readonly string[]) {
  const surface = await openSurface();
  const { api, base, directory } = surface;
  const listener = await listenNext(`${base}/api/event`);
  const { body } = await api.post("/api/session", { location: { directory } });
  const session = `/api/session/${body.data.id}`;
  for (const text of prompts) {
    await api.post(`${session}/prompt`, { prompt: { text } });
    await api.post(`${session}/wait`);
  }
  const ends = () => listener.heard.filter(isIdle).length;
  await listener.until(() => ends() === prompts.length);
  return { ...surface, listener, session, sessionID: body.data.id };
}

test("a turn is a prompt, model steps, blocks and tools, each begun and ended once, and then idle", async () => {
  const { listener, directory, sessionID } = await converse(["tool"]);
  const [hello, ...heard] = listener.heard;
  expect(hello).toMatchObject({ type: "server.connected", data: {} });
  const seen = typesOf(heard.filter(({ type }) => /^session\.(next|idle)/.test(type) && !type.endsWith(".delta")));
  const tool = ["tool.input.started", "tool.input.ended", "tool.called", "tool.progress", "tool.success"];
  expect(seen).toEqual([
    ...["prompt.admitted", "prompted", "step.started", "text.started", "text.ended", ...tool, "step.ended"],
    ...["step.started", ...tool, "step.ended"],
    ...["step.started", "text.started", "text.ended", "step.ended", "session.idle"],
  ]);
  const deltas = heard.filter(({ type }) => type === "session.next.text.delta");
  const ended = heard.filter(({ type }) => type === "session.next.text.ended");
  for (const { data } of ended) {
    const own = deltas.filter(({ data: { textID } }) => textID === data.textID);
    expect(own.map(({ data: { delta } }) => delta).join("")).toBe(data.text);
  }
  expect(deltas.some(({ durable }) => durable !== undefined)).toBe(false);
  expect(heard.every(({ location }) => location?.directory === directory)).toBe(true);
  const numbers = heard.flatMap(({ durable }) => durable?.seq ?? []);
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  expect(new Set(heard.flatMap(({ durable }) => durable?.aggregateID ?? []))).toEqual(new Set([sessionID]));
});

test("pages of the history, and the session's own stream from any place on, are what was sent live", async () => {
  const { api, base, listener, session } = await converse(["tool", "echo again"]);
  const live = listener.heard.filter(isDurable).map(stored);
  const pages: unknown[] = [];
  for (let after = 0, more = true; more; ) {
    const { body } = await api.get(`${session}/history?limit=4&after=${after}`);
    pages.push(...body.data);
    after = body.data.at(-1)?.durable.seq ?? after;
    more = body.hasMore;
  }
  expect(pages).toEqual(live);
  for (const at of [0, 1, live.length - 2]) {
    const after = at === 0 ? 0 : (live[at - 1]?.durable?.seq ?? 0);
    const own = await listenNext(`${base}${session}/event?after=${after}`);
    await own.until(({ durable }) => durable?.seq === live.at(-1)?.durable?.seq);
    expect(own.heard.map(stored)).toEqual(live.slice(at));
    own.close();
  }
});

test("a client that comes back misses nothing and hears nothing twice; one that comes late sees open requests", async () => {
  const { api, base, listener, session } = await converse(["tool"]);
  const logged = listener.heard.filter(({ at }) => at !== null);
  for (const place of [0, Math.floor(logged.length / 2), logged.length - 2]) {
    const again = await listenNext(`${base}/api/event`, { "last-event-id": logged[place]?.at ?? "" });
    await again.until(isIdle);
    const [, ...rest] = again.heard;
    expect(rest).toEqual(logged.slice(place + 1));
    again.close();
  }
  await api.post(`${session}/prompt`, { prompt: { text: "permission" } });
  const { data: asked } = await listener.until(({ type }) => type === "permission.v2.asked");
  const late = await listenNext(`${base}/api/event`);
  expect((await late.until(({ type }) => type === "permission.v2.asked")).data).toEqual(asked);
  expect((await api.get(`${session}/permission`)).body.data).toEqual([asked]);
  await api.post(`${session}/permission/${asked.id}/reply`, { reply: "reject" });
  const replied = await late.until(({ type }) => type === "permission.v2.replied");
  expect(replied.data).toMatchObject({ requestID: asked.id, reply: "reject" });
  await api.post(`${session}/interrupt`);
});

test("an aborted answer ends its step with an error, and a choice of the person's is an event", async () => {
  const { api, listener, session } = await converse(["echo one"]);
  await api.post(`${session}/prompt`, { prompt: { text: "hang" } });
  await listener.until(({ type, data }) => type === "session.next.prompted" && data.prompt.text === "hang");
  await api.post(`${session}/interrupt`);
  const failed = await listener.until(({ type }) => type === "session.next.step.failed");
  expect(failed.data.error).toMatchObject({ type: "unknown" });
  await api.post(`${session}/agent`, { agent: "plan" });
  const switched = await listener.until(({ type }) => type === "session.next.agent.switched");
  expect(switched.data).toMatchObject({ agent: "plan" });
});

test.each([
  ["history?limit=0", 400],
  ["history?limit=101", 400],
  ["history?limit=x", 400],
  ["history?after=-1", 400],
  ["history?after=", 400],
  ["history?after=999999999", 200],
  ["event?after=1.5", 400],
])("%s is answered with %i", async (path, status) => {
  const { api } = await openSurface();
  const { body } = await api.post("/api/session", {});
  expect((await api.get(`/api/session/${body.data.id}/${path}`)).status).toBe(status);
  const [route] = path.split("?");
  const missing = await api.get(`/api/session/ses_none/${route}`);
  expect(missing).toMatchObject({ status: 404, body: { _tag: "SessionNotFoundError", sessionID: "ses_none" } });
});

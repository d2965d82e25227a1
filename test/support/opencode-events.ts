/** OpenCode's events, made by hand: what a test says in its place. */
import { opencode } from "../../src/adapters/opencode/index.ts";
import { type LiveSession, liveSession } from "./live-session.ts";

export const root = "ses_root";
export const of = { sessionID: root };
export const event = (type: string, properties: object) => ({ directory: "/workspace", payload: { type, properties } });
export const status = (type: "busy" | "idle", sessionID = root) =>
  event("session.status", { sessionID, status: { type } });
export const idle = (sessionID = root) => event("session.idle", { sessionID });
export const done = [status("busy"), status("idle"), idle()];

export const message = (id: string, fields: object = {}) =>
  event("message.updated", { ...of, info: { id, ...of, role: "assistant", time: { created: 1 }, ...fields } });
export const user = (id: string, text: string) => [
  event("message.updated", { ...of, info: { id, ...of, role: "user" } }),
  part({ id: `${id}-text`, messageID: id, type: "text", text }),
];
export const part = (fields: object, delta?: string) =>
  event("message.part.updated", { part: { ...of, ...fields }, ...(delta === undefined ? {} : { delta }) });
export const text = (id: string, messageID: string, words: string, { end = false } = {}) =>
  part({ id, messageID, type: "text", text: words, time: { start: 1, ...(end ? { end: 2 } : {}) } });
export const delta = (partID: string, messageID: string, words: string) =>
  event("message.part.delta", { ...of, messageID, partID, field: "text", delta: words });
export const tool = (state: object, fields: object = {}) =>
  part({ id: "prt_tool", messageID: "msg_1", type: "tool", tool: "bash", callID: "call_1", state, ...fields });

/** A session that is there and has been prompted. */
export function prompted(): LiveSession {
  const live = liveSession(opencode);
  live.prompt("hello");
  live.connect();
  live.answer("/session", { body: { id: root } });
  live.answer("/prompt_async", { status: 204 });
  live.hear(...user("msg_0", "hello"), status("busy"), message("msg_1"));
  return live;
}

export const ends = (live: LiveSession) =>
  live.of("turn.ended").map(({ data }) => `${data.reason} by ${data.evidence}`);
export const requests = (live: LiveSession) => live.asked().map(({ method, path, body }) => ({ method, path, body }));
export const words = (live: LiveSession) =>
  live.of("item.completed").map(({ data: { item } }) => {
    const [first] = item.content;
    return `${item.role} ${item.status} ${first?.type === "text" ? first.text : first?.type}`;
  });

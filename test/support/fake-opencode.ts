/** A server that says what OpenCode's says: sessions, prompts answered with one word, revert, share and notes. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface FakeOpenCode {
  readonly url: string;
  /** `METHOD /path` and body of all that was asked, in order; the event stream apart. */
  readonly asked: { readonly what: string; readonly body: Fields }[];
  /** Refuses what matches, with this status and body; or never answers it. */
  readonly refuse: (what: RegExp, answer: { readonly status: number; readonly body: Fields } | "silence") => void;
  /** Resolves when something like it was asked. */
  readonly heard: (what: RegExp) => Promise<Fields>;
  readonly close: () => void;
}

type Fields = Readonly<Record<string, unknown>>;

interface Message {
  readonly info: { readonly id: string; readonly role: string; readonly [more: string]: unknown };
  readonly parts: readonly Fields[];
}

const SESSION = "ses_fake0000000000000000000000";

export async function fakeOpenCode(): Promise<FakeOpenCode> {
  const streams = new Set<ServerResponse>();
  const asked: FakeOpenCode["asked"] = [];
  const refusals: { what: RegExp; answer: Parameters<FakeOpenCode["refuse"]>[1] }[] = [];
  const say = (type: string, properties: Fields): void => {
    const payload = { id: `evt_${asked.length}`, type, properties: { sessionID: SESSION, ...properties } };
    for (const stream of streams) stream.write(`data: ${JSON.stringify({ directory: "/", payload })}\n\n`);
  };
  const waiting = new Set<() => void>();
  const talk = openTalk(say);
  const server = createServer(async (incoming, outgoing) => {
    const [path = ""] = (incoming.url ?? "").split("?");
    if (path === "/global/event") {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.write(`data: ${JSON.stringify({ payload: { type: "server.connected", properties: {} } })}\n\n`);
      streams.add(outgoing);
      return;
    }
    const body = await bodyOf(incoming);
    const what = `${incoming.method} ${path.replace(`/session/${SESSION}`, "/session/{id}")}`;
    asked.push({ what, body });
    for (const look of waiting) look();
    const refused = refusals.find((one) => one.what.test(what))?.answer;
    if (refused === "silence") return;
    const { status, body: answer } = refused ?? { status: 200, body: talk(what, body) };
    outgoing.writeHead(status, { "content-type": "application/json" });
    outgoing.end(JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The server has no address.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    close,
    heard: (what) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = asked.find((one) => what.test(one.what));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found.body);
        };
        waiting.add(look);
        look();
      }),
    refuse: (what, answer) => void refusals.push({ what, answer }),
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Fields> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : JSON.parse(text);
}

/** The conversation: what is asked, in; what is answered, out; what changes, said. */
function openTalk(say: (type: string, properties: Fields) => void): (what: string, body: Fields) => unknown {
  let messages: Message[] = [];
  let revert: { readonly messageID: string } | null = null;
  let share: { readonly url: string } | null = null;
  let count = 0;
  const session = (): Fields => ({
    id: SESSION,
    title: "Fake",
    time: { created: 1, updated: 1 },
    ...(revert === null ? {} : { revert }),
    ...(share === null ? {} : { share }),
  });
  const tell = (): Fields => {
    say("session.updated", { info: session() });
    return session();
  };
  const add = (role: "user" | "assistant", text: string, more: Fields = {}): Message => {
    count += 1;
    const id = `msg_${String(count).padStart(4, "0")}`;
    const info = { id, sessionID: SESSION, role, time: { created: count }, ...more };
    const part = { id: `prt_${id}`, sessionID: SESSION, messageID: id, type: "text", text, time: { start: 1, end: 2 } };
    const message = { info, parts: [part] };
    messages.push(message);
    say("message.updated", { info });
    say("message.part.updated", { part });
    return message;
  };
  /** The first prompt after a revert makes it final. */
  const settle = (): void => {
    if (revert === null) return;
    const { messageID } = revert;
    for (const { info } of messages.filter((one) => one.info.id >= messageID)) {
      say("message.removed", { messageID: info.id });
    }
    messages = messages.filter(({ info }) => info.id < messageID);
    revert = null;
    tell();
  };
  const prompt = (body: Fields): void => {
    settle();
    add("user", textIn(body));
    say("session.status", { status: { type: "busy" } });
    const structured = body.format === undefined ? {} : { structured: { answer: 42 } };
    add("assistant", "Yes.", { finish: "stop", time: { created: count, completed: count }, ...structured });
    say("session.status", { status: { type: "idle" } });
    say("session.idle", {});
  };
  const routes: Readonly<Record<string, (body: Fields) => unknown>> = {
    "POST /session": session,
    "POST /session/{id}/fork": session,
    "GET /session/{id}": session,
    "GET /session/{id}/message": () => messages.slice(-1),
    "POST /session/{id}/prompt_async": (body) => void prompt(body),
    "POST /session/{id}/command": (body) => void prompt(body),
    "POST /session/{id}/message": (body) => {
      settle();
      return add("user", textIn(body));
    },
    "POST /session/{id}/revert": ({ messageID }) => {
      revert = { messageID: String(messageID) };
      return tell();
    },
    "POST /session/{id}/unrevert": () => {
      revert = null;
      return tell();
    },
    "POST /session/{id}/share": () => {
      share = { url: "http://localhost/s/1" };
      return tell();
    },
    "DELETE /session/{id}/share": () => {
      const before = session();
      share = null;
      tell();
      // As the real one: the answer is older than what it has done.
      return before;
    },
  };
  return (what, body) => routes[what]?.(body) ?? null;
}

function textIn({ parts, command }: Fields): string {
  const [first] = Array.isArray(parts) ? parts : [];
  return typeof first?.text === "string" ? first.text : String(command ?? "");
}

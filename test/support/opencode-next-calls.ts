/** One conversation and every kind of read through OpenCode's newer API: what was answered, and what was heard. */
import type { Script, ScriptTurn } from "../../src/model-server/script.ts";
import { fieldsOf, type Labelled } from "./opencode-difference.ts";
import { says } from "./opencode-lab.ts";
import { listenNext, type NextHeard, type NextListener } from "./opencode-next-client.ts";
import { opencodeScript } from "./opencode-trial.ts";
import type { OpenedSide } from "./opencode-twin.ts";

const tool = (id: string, name: string, input: unknown): ScriptTurn => ({
  type: "answer",
  blocks: [{ type: "tool_call", id, name, input }],
  usage: { input: 100, output: 20 },
});

const question = {
  question: "Which?",
  header: "Pick",
  options: [
    { label: "A", description: "The first." },
    { label: "B", description: "The second." },
  ],
};

export const nextScript: Script = opencodeScript([
  {
    type: "answer",
    blocks: [
      { type: "thinking", text: "Let me think.", chunks: 2 },
      { type: "text", text: "I will look.", chunks: 3 },
      { type: "tool_call", id: "call_hi", name: "bash", input: { command: "echo hi", description: "Say hi" } },
    ],
    usage: { input: 100, output: 20 },
  },
  says("It said hi."),
  tool("call_touch", "bash", { command: "touch x", description: "Touch a file" }),
  says("Touched."),
  tool("call_ask", "question", { questions: [question] }),
  says("A it is."),
  { type: "status", status: 401, message: "bad key" },
]);

export interface Compared {
  readonly answers: readonly Labelled[];
  readonly events: readonly Labelled[];
  /** The session's own stream. */
  readonly own: readonly Labelled[];
}

interface Caller {
  readonly side: OpenedSide;
  readonly answers: Labelled[];
  readonly listener: NextListener;
}

const PATIENCE_MS = 120_000;

/** Fails in words instead of waiting for the end of the test. */
async function soon<T>(wanted: Promise<T>, { what, listener }: { what: string; listener: NextListener }): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const words = (): string => listener.heard.map(({ type }) => type).join(", ");
    timer = setTimeout(() => reject(new Error(`There was no ${what} after ${words()}.`)), PATIENCE_MS);
  });
  return Promise.race([wanted, late]).finally(() => clearTimeout(timer));
}

/** Native's own numbers, times and cursors say nothing; neither do ours. */
const plain = (value: unknown, directory: string): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one: unknown) => {
      if (/^(timestamp|timeCreated|ran|seq|admittedSeq)$/.test(key)) return 0;
      return /^(previous|next)$/.test(key) && typeof one === "string" ? "cursor" : one;
    }).replaceAll(directory, "/work"),
  );

type Pick = (body: unknown) => unknown;

async function note(
  { side: { api, directory }, answers }: Caller,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  { name, pick = (whole) => whole }: { readonly name: string; readonly pick?: Pick },
) {
  const reply = await api.call(method, path, body);
  const value = plain({ status: reply.status, body: pick(reply.body) }, directory);
  answers.push({ label: `${method} ${name}`, value });
  return reply;
}

/** In a list, the one entry that both have. */
const entry =
  (id: string): Pick =>
  (body) => {
    const { data } = fieldsOf(body);
    return Array.isArray(data) ? data.map(fieldsOf).find((one) => one.id === id) : body;
  };

export async function converseNext(side: OpenedSide): Promise<Compared> {
  const { base, directory } = side;
  const listener = await listenNext(`${base}/api/event`);
  const caller: Caller = { side, answers: [], listener };
  const made = await note(caller, ["POST", "/api/session", { location: { directory } }], { name: "/api/session" });
  const id: string = made.body.data.id;
  // OpenCode answers when there is something to say.
  const opening = listenNext(`${base}/api/session/${id}/event`);
  await talk(caller, id);
  await readSession(caller, id);
  await refuse(caller, id);
  await readPlace(caller);
  const own = await opening;
  const last = listener.heard.findLast(({ type }) => type === "session.next.agent.switched");
  await soon(
    own.until(({ durable }) => durable?.seq === last?.durable?.seq),
    { what: "change of the agent", listener: own },
  );
  const row = ({ heard }: NextListener): Labelled[] =>
    heard
      .filter(({ type, data }) => isOfTurn(type) && (data.sessionID === id || data.sessionID === undefined))
      .map(({ at: _, ...event }) => ({ label: event.type, value: plain(event, directory) }));
  return { answers: caller.answers, events: row(listener), own: row(own) };
}

const isOfTurn = (type: string): boolean => /^(session|permission|question|message|todo)\./.test(type);

const isEnd = ({ type, data }: NextHeard): boolean =>
  type === "session.next.step.failed" || (type === "session.next.step.ended" && data.finish === "stop");

async function talk(caller: Caller, id: string): Promise<void> {
  const { listener, side } = caller;
  const session = (method: string, path: string, body?: unknown) =>
    note(caller, [method, `/api/session/${id}${path}`, body], { name: `{session}${path.replace(/_\w{20,}/, "_…")}` });
  const place = `location[directory]=${encodeURIComponent(side.directory)}`;
  const all = (kind: string) =>
    note(caller, ["GET", `/api/${kind}/request?${place}`], { name: `/api/${kind}/request` });
  const until = (type: string) =>
    soon(
      listener.until((event) => event.type === type),
      { what: type, listener },
    );
  const ended = (count: number) =>
    soon(
      listener.until(() => listener.heard.filter(isEnd).length >= count),
      { what: `end ${count}`, listener },
    );
  const settled = async (count: number): Promise<void> => {
    await ended(count);
    while (id in (await side.api.get("/api/session/active")).body.data)
      await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await session("POST", "/prompt", { prompt: { text: "Say hi" } });
  await settled(1);
  await session("POST", "/prompt", { prompt: { text: "touch" }, delivery: "steer" });
  const permission = await until("permission.v2.asked");
  await session("GET", "/permission");
  await all("permission");
  await session("GET", `/permission/${permission.data.id}`);
  await session("POST", `/permission/${permission.data.id}/reply`, { reply: "nonsense" });
  await session("POST", `/permission/${permission.data.id}/reply`, { reply: "once" });
  await settled(2);
  await session("POST", `/permission/${permission.data.id}/reply`, { reply: "once" });
  await session("POST", "/prompt", { prompt: { text: "ask" } });
  const asked = await until("question.v2.asked");
  await session("GET", "/question");
  await all("question");
  await session("POST", `/question/${asked.data.id}/reply`, { answers: "A" });
  await session("POST", `/question/${asked.data.id}/reply`, { answers: [["A"]] });
  await settled(3);
  await session("POST", "/prompt", { prompt: { text: "fail" } });
  await settled(4);
  await session("POST", "/interrupt");
  await session("POST", "/wait");
}

async function readSession(caller: Caller, id: string): Promise<void> {
  const read = (path: string) =>
    note(caller, ["GET", `/api/session/${id}${path}`], {
      name: `{session}${path.replace(/_\w{20,}/, "_…").replace(/cursor=\w{20,}/, "cursor=…")}`,
    });
  await read("");
  await read("/message");
  const { body: page } = await read("/message?limit=1");
  await read(`/message?limit=1&cursor=${page.cursor.next}`);
  await read(`/message?order=asc&cursor=${page.cursor.next}`);
  await read(`/message/${page.data[0].id}`);
  await read("/context");
  for (const path of ["order=asc&limit=2", "limit=x", "limit=0", "limit=201", "order=up", "cursor=nonsense"])
    await read(`/message?${path}`);
  for (const path of ["/message/msg_none", "/message/none", "/permission/per_none", "/history?limit=2"])
    await read(path);
  for (const path of ["/history?limit=101", "/history?limit=0", "/history?after=x", "/history?after=-1"])
    await read(path);
}

async function refuse(caller: Caller, id: string): Promise<void> {
  const { model } = caller.side;
  const post = (path: string, body?: unknown, session = id) =>
    note(caller, ["POST", `/api/session/${session}${path}`, body], {
      name: `${session === id ? "{session}" : session}${path}`,
    });
  for (const body of [{}, { prompt: {} }, { prompt: { text: "a" }, delivery: "never" }]) await post("/prompt", body);
  for (const path of ["/agent", "/model", "/revert/stage"]) await post(path, {});
  await post("/revert/stage", { messageID: "msg_none" });
  await post("/question/que_none/reject");
  await post("/permission/per_none/reply", { reply: "once" });
  for (const session of ["ses_none", "nope"]) {
    for (const path of ["/prompt", "/agent", "/interrupt", "/wait", "/revert/clear"]) await post(path, {}, session);
    for (const path of ["", "/message", "/context", "/history", "/permission", "/question"])
      await note(caller, ["GET", `/api/session/${session}${path}`], { name: `${session}${path}` });
  }
  await post("/agent", { agent: "plan" });
  await post("/model", { model: { id: model.modelID, providerID: model.providerID } });
  await post("/agent", { agent: "build" });
}

async function readPlace(caller: Caller): Promise<void> {
  const { directory, model } = caller.side;
  const place = `location[directory]=${encodeURIComponent(directory)}`;
  const sessions = (query: string, name: string) => note(caller, ["GET", `/api/session?${query}`], { name });
  const { body } = await sessions(`limit=1&directory=${encodeURIComponent(directory)}`, "/api/session?limit=1");
  await sessions(`cursor=${body.cursor.next}`, "/api/session?cursor=…");
  for (const query of ["limit=x", "limit=0", "order=up", "cursor=nonsense"])
    await sessions(query, `/api/session?${query}`);
  const create = (given: object, name: string) => note(caller, ["POST", "/api/session", given], { name });
  await create({ location: 1 }, "/api/session, no location");
  await create({ id: "nope", location: { directory } }, "/api/session, no id");
  await create({ location: { directory: "/nowhere/at/all" } }, "/api/session, nowhere");
  const named = { id: "ses_0000000000000000000000000b", location: { directory }, agent: "plan" };
  const chosen = { ...named, model: { id: model.modelID, providerID: model.providerID } };
  for (const count of ["first", "again"]) await create(chosen, `/api/session, named, ${count}`);
  const read = (path: string, pick?: Pick) =>
    note(caller, ["GET", `${path}${path.includes("?") ? "&" : "?"}${place}`], {
      name: path.replace(model.providerID, "{provider}"),
      ...(pick === undefined ? {} : { pick }),
    });
  await read("/api/agent", entry("build"));
  await read("/api/provider", entry(model.providerID));
  await read(`/api/provider/${model.providerID}`);
  const rest = ["health", "location", "provider/none", "permission/saved", "command", "skill", "reference"];
  for (const path of rest) await read(`/api/${path}`);
  for (const path of ["list", "list?path=none", "find?query=READ", "find", "read/none.txt"])
    await read(`/api/fs/${path}`);
  for (const path of ["pty", "pty/pty_none"]) await read(`/api/${path}`);
}

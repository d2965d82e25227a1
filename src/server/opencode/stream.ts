/** `/event` and `/global/event`: server-sent events with ids, resumable, with what waits for an answer told again. */
import { randomBytes } from "node:crypto";
import type { OpenCodeOptions } from "../../projections/opencode/index.ts";
import { projectId } from "../../projections/opencode/index.ts";
import { eventsOf } from "../../runtime/log/group.ts";
import { type EventStream, streamEvents } from "../sse.ts";
import type { OpenCodeAnswer, OpenCodeCall, OpenCodeRoute } from "./call.ts";
import { type Live, openLive, tell } from "./live.ts";
import type { Batch, Retelling } from "./retelling.ts";

const HEARTBEAT_MS = 10_000;

/** How an event is written: alone, or with its directory around it. */
type Form = (json: string, where: { readonly directory: string; readonly project: string }) => string;

const alone: Form = (json) => json;
const wrapped: Form = (json, { directory, project }) =>
  `{"directory":${JSON.stringify(directory)},"project":${JSON.stringify(project)},"payload":${json}}`;

export const streamRoutes: readonly OpenCodeRoute[] = [
  {
    method: "GET",
    path: "/event",
    handle: (call) => call.streams.serve(call, { form: alone, directory: call.directory }),
  },
  {
    method: "GET",
    path: "/global/event",
    handle: (call) => call.streams.serve(call, { form: wrapped, directory: null }),
  },
];

export interface Streams {
  readonly serve: (call: OpenCodeCall, view: View) => Promise<OpenCodeAnswer>;
  /** Resolves when every client has been sent what was told until now; true when there are clients. */
  readonly flushed: () => Promise<boolean>;
}

interface View {
  readonly form: Form;
  /** Only events of this directory; null for all. */
  readonly directory: string | null;
}

interface Client {
  /** The next batch to send. */
  index: number;
}

/** A client that does not read holds nobody up for longer. */
const FLUSH_MS = 1_000;

export function openStreams({ retelling, options }: { retelling: Retelling; options: OpenCodeOptions }): Streams {
  const clients = new Set<Client>();
  let progressed: () => void = () => {};
  return {
    async serve(call, view) {
      await retelling.ready();
      const client: Client = { index: retelling.ring.next() };
      clients.add(client);
      const greeting = [frame("", made("server.connected", {}), view), ...pending(retelling, { call, view })].join("");
      try {
        await streamEvents({ ...call, heartbeatMs: HEARTBEAT_MS, greeting }, (stream) =>
          pump({ call, view, client, stream, retelling, options, onSent: () => progressed() }),
        );
      } finally {
        clients.delete(client);
        progressed();
      }
      return "sent";
    },
    async flushed() {
      const until = retelling.ring.next();
      const deadline = AbortSignal.timeout(FLUSH_MS);
      while (!deadline.aborted && [...clients].some(({ index }) => index < until)) {
        await new Promise<void>((resolve) => {
          progressed = resolve;
          deadline.addEventListener("abort", () => resolve());
        });
      }
      return clients.size > 0;
    },
  };
}

/** A client that comes late is told what waits for an answer; native OpenCode leaves it in the dark. */
function pending(retelling: Retelling, { call, view }: { call: OpenCodeCall; view: View }): string[] {
  if (lastEventId(call) !== null) return [];
  return retelling
    .lives()
    .filter(({ state }) => view.directory === null || state.directory === view.directory)
    .flatMap(({ store, state }) => {
      const where = { directory: state.directory, project: projectId(state.directory) };
      const asked = [
        ...[...store.permissions.values()].map((request) => made("permission.asked", request)),
        ...[...store.questions.values()].map((request) => made("question.asked", request)),
      ];
      return asked.map((event) => frame("", event, { ...view, form: (json) => view.form(json, where) }));
    });
}

/** What is not in the log has an id from the clock. */
export function made(type: string, properties: object): string {
  const stamp = (BigInt(Date.now()) * 0x1000n).toString(16).slice(-12);
  return JSON.stringify({ id: `evt_${stamp}${randomBytes(7).toString("hex")}`, type, properties });
}

const NOWHERE = { directory: "global", project: "global" };

function frame(at: string, json: string, { form }: Pick<View, "form">): string {
  const id = at === "" ? "" : `id: ${at}\n`;
  return `${id}data: ${form(json, NOWHERE)}\n\n`;
}

interface Pumping {
  readonly call: OpenCodeCall;
  readonly view: View;
  readonly client: Client;
  readonly stream: EventStream;
  readonly retelling: Retelling;
  readonly options: OpenCodeOptions;
  readonly onSent: () => void;
}

async function pump(pumping: Pumping): Promise<void> {
  const { call, view, client, stream, retelling } = pumping;
  const { ring } = retelling;
  const from = lastEventId(call);
  if (from !== null) await catchUp(pumping, from);
  const heartbeat = setInterval(() => void stream.write(frame("", made("server.heartbeat", {}), view)), HEARTBEAT_MS);
  let last = from ?? `${ring.position()}.-1.0`;
  try {
    while (!stream.signal.aborted) {
      if (client.index < ring.first()) {
        // The ring has moved on: the log still has it.
        await catchUp(pumping, last);
        continue;
      }
      const batch = ring.get(client.index);
      if (batch === undefined) {
        await ring.news(client.index, stream.signal);
        continue;
      }
      client.index += 1;
      const text = framesOf(batch, view);
      if (text !== "") await stream.write(text);
      last = lastOf(batch) ?? last;
      pumping.onSent();
    }
  } finally {
    clearInterval(heartbeat);
  }
}

const cache = new WeakMap<Batch, Map<Form, string>>();

/** A batch as frames, made once for all clients of one form. */
function framesOf(batch: Batch, { form, directory }: View): string {
  if (directory !== null && batch.directory !== directory) return "";
  const known = cache.get(batch)?.get(form);
  if (known !== undefined) return known;
  const text = batch.told
    .flatMap(({ at, events }) => events.map((json, count) => ({ id: at === "" ? "" : `${at}.${count}`, json })))
    .map(({ id, json }) => `${id === "" ? "" : `id: ${id}\n`}data: ${form(json, batch)}\n\n`)
    .join("");
  const forms = cache.get(batch) ?? new Map<Form, string>();
  forms.set(form, text);
  cache.set(batch, forms);
  return text;
}

function lastOf({ told }: Batch): string | null {
  const last = told.at(-1);
  return last === undefined || last.at === "" ? null : `${last.at}.${last.events.length - 1}`;
}

function lastEventId({ incoming }: OpenCodeCall): string | null {
  const header = incoming.headers["last-event-id"];
  return typeof header === "string" && /^\d+\.-?\d+\.\d+$/.test(header) ? header : null;
}

/** Tells again, from the log, what came after an id; then the client is where the ring is. */
async function catchUp({ view, client, stream, retelling, options, call }: Pumping, from: string): Promise<void> {
  const [position = 0, index = -1, count = 0] = from.split(".").map(Number);
  const { ring } = retelling;
  const target = ring.position();
  client.index = ring.next();
  if (position > target || (position === target && index < 0)) return;
  const lives = new Map<string, Live>();
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, stream.signal]);
  for await (const group of call.sessions.followAll({ after: Math.max(0, position - 1), signal })) {
    if (group.position > target) break;
    const live =
      lives.get(group.session) ?? (await before(call, { id: group.session, sequence: group.first, options }));
    lives.set(group.session, live);
    let text = "";
    for (const [place, event] of eventsOf(group).entries()) {
      if (event.sequence <= live.sequence) continue;
      const told = tell(live, event);
      const where = { directory: live.state.directory, project: projectId(live.state.directory) };
      if (view.directory !== null && view.directory !== where.directory) continue;
      for (const [nth, one] of told.entries()) {
        if (group.position === position && (place < index || (place === index && nth <= count))) continue;
        text += `id: ${group.position}.${place}.${nth}\ndata: ${view.form(JSON.stringify(one), where)}\n\n`;
      }
    }
    if (text !== "") await stream.write(text);
    if (group.position >= target) break;
  }
  done.abort();
}

/** A session as it stood before an event. */
async function before(
  { sessions }: OpenCodeCall,
  { id, sequence, options }: { id: Live["id"]; sequence: number; options: OpenCodeOptions },
): Promise<Live> {
  const live = openLive(id, options);
  while (live.sequence < sequence - 1) {
    const page = await sessions.events(id, { offset: live.sequence, limit: 1000, includeRaw: false });
    for (const event of page.events) if (event.sequence < sequence) tell(live, event);
    if (page.events.length === 0) break;
  }
  return live;
}

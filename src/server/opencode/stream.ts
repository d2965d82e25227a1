/** `/event` and `/global/event`: server-sent events with ids, resumable, with what waits for an answer told again. */
import { randomBytes } from "node:crypto";
import type { OpenCodeEvent } from "../../dialects/opencode.ts";
import {
  type OpenCodeOptions,
  type OpenCodeState,
  openCodeFold,
  openCodeSessionId,
  projectId,
} from "../../projections/opencode/index.ts";
import { hasCode } from "../../protocol/errors.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { eventsOf } from "../../runtime/log/codec/group.ts";
import { type EventStream, streamEvents } from "../sse.ts";
import { openBreaks } from "./breaks.ts";
import type { OpenCodeAnswer, OpenCodeCall, OpenCodeRoute } from "./call.ts";
import { stateBefore } from "./checkpoints.ts";
import type { Batch, Retelling } from "./retelling.ts";

const HEARTBEAT_MS = 10_000;

/** How an event is written: alone, or with its directory around it. */
type Form = (json: string, where: { readonly directory: string; readonly project: string }) => string;

export const alone: Form = (json) => json;
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

/** What a stream needs of a call. */
type StreamCall = Pick<OpenCodeCall, "sessions" | "incoming" | "outgoing" | "stopped">;

export interface Streams {
  readonly serve: (call: StreamCall, view: View) => Promise<OpenCodeAnswer>;
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
      const greeting = [
        frame("", made("server.connected", {}), view),
        ...(await interrupted(retelling, { call, view, options })),
        ...pending(retelling, { call, view }),
      ].join("");
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
function pending(retelling: Retelling, { call, view }: { call: StreamCall; view: View }): string[] {
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

/**
 * OpenCode's TUI comes back after a restart without saying what it heard last, and would show a turn that was cut off
 * as running for ever: what became of it is told again, as long as nothing else has happened in the session. Not to
 * those who listen to one directory: they wait for the idle of a prompt that they are about to send.
 */
async function interrupted(
  retelling: Retelling,
  { call, view, options }: { call: StreamCall; view: View; options: OpenCodeOptions },
): Promise<string[]> {
  if (view.directory !== null || lastEventId(call) !== null) return [];
  const frames: string[] = [];
  for (const [session, offset] of call.sessions.recovered) {
    const events = await eventsSince(call, { session, offset });
    if (events.length === 0 || events.some(({ type }) => type === "turn.started")) continue;
    const folding = await standingAt(call, { retelling, session, sequence: offset, options });
    const told = events.flatMap((event) => step(folding, event));
    const { directory } = folding.state;
    const form = (json: string): string => view.form(json, { directory, project: projectId(directory) });
    frames.push(...told.map((event) => frame("", JSON.stringify(event), { form })));
  }
  return frames;
}

/** None of a session that was deleted since. */
async function eventsSince(
  { sessions }: StreamCall,
  { session, offset }: { session: SessionId; offset: number },
): Promise<readonly UniversalEvent[]> {
  try {
    return (await sessions.events(session, { offset, limit: PAGE, includeRaw: false })).events;
  } catch (error) {
    if (hasCode(error, "session_not_found")) return [];
    throw error;
  }
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
  readonly call: StreamCall;
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
  let last = from === null ? allOf(ring.position()) : await catchUp(pumping, from);
  const heartbeat = setInterval(() => void stream.write(frame("", made("server.heartbeat", {}), view)), HEARTBEAT_MS);
  try {
    while (!stream.signal.aborted) {
      if (client.index < ring.first()) {
        // The ring has moved on: the log still has it.
        last = await catchUp(pumping, last);
        continue;
      }
      const batch = ring.get(client.index);
      if (batch === undefined) {
        await ring.news(client.index, stream.signal);
        continue;
      }
      client.index += 1;
      const frames = framesOf(batch, view);
      if (frames.length > 0) await stream.write(frames);
      last = lastOf(batch) ?? last;
      pumping.onSent();
    }
  } finally {
    clearInterval(heartbeat);
  }
}

const cache = new WeakMap<Batch, Map<Form, Buffer>>();
const nothing = Buffer.alloc(0);

/** A batch as frames, made once as bytes for all clients of one form. */
function framesOf(batch: Batch, { form, directory }: View): Buffer {
  if (directory !== null && batch.directory !== directory) return nothing;
  const known = cache.get(batch)?.get(form);
  if (known !== undefined) return known;
  let text = "";
  for (const { at, events } of batch.told) {
    for (let count = 0; count < events.length; count += 1) {
      if (at !== "") text += `id: ${at}.${count}\n`;
      text += `data: ${form(events[count] ?? "", batch)}\n\n`;
    }
  }
  const frames = Buffer.from(text);
  const forms = cache.get(batch) ?? new Map<Form, Buffer>();
  forms.set(form, frames);
  cache.set(batch, forms);
  return frames;
}

function lastOf({ told }: Batch): string | null {
  const last = told.at(-1);
  return last === undefined || last.at === "" ? null : `${last.at}.${last.events.length - 1}`;
}

function lastEventId({ incoming }: StreamCall): string | null {
  const header = incoming.headers["last-event-id"];
  return typeof header === "string" && /^\d+\.-?\d+\.\d+$/.test(header) ? header : null;
}

/** The place of a client that has heard all groups up to a position. */
const allOf = (position: number): string => `${position + 1}.-1.0`;

/** Tells again, from the log, what came after a place; then the client is where the ring was, and that is given. */
async function catchUp({ view, client, stream, retelling, options, call }: Pumping, from: string): Promise<string> {
  const [position = 0, index = -1, count = 0] = from.split(".").map(Number);
  const { ring } = retelling;
  const target = ring.position();
  client.index = ring.next();
  if (position > target) return allOf(target);
  const isKnown = ({ place, nth }: Record<"place" | "nth", number>): boolean =>
    place < index || (place === index && nth <= count);
  const folds = new Map<string, Folding>();
  const breakDue = openBreaks();
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, stream.signal]);
  for await (const group of call.sessions.followAll({ after: Math.max(0, position - 1), signal })) {
    if (group.position > target) break;
    const folding =
      folds.get(group.session) ??
      (await standingAt(call, { retelling, session: group.session, sequence: group.first - 1, options }));
    folds.set(group.session, folding);
    let text = "";
    for (const [place, event] of eventsOf(group).entries()) {
      if (event.sequence <= folding.sequence) continue;
      const told = step(folding, event);
      const { directory } = folding.state;
      if (view.directory !== null && view.directory !== directory) continue;
      for (const [nth, one] of told.entries()) {
        if (group.position === position && isKnown({ place, nth })) continue;
        const json = view.form(JSON.stringify(one), { directory, project: projectId(directory) });
        text += `id: ${group.position}.${place}.${nth}\ndata: ${json}\n\n`;
      }
    }
    if (text !== "") await stream.write(text);
    await breakDue();
    if (group.position >= target) break;
  }
  done.abort();
  return allOf(target);
}

/** A projection on its way through the log once more: it tells, and nobody asks it what it told. */
interface Folding {
  readonly state: OpenCodeState;
  sequence: number;
}

function step(folding: Folding, event: UniversalEvent): readonly OpenCodeEvent[] {
  folding.sequence = event.sequence;
  return openCodeFold(folding.state.options).step(folding.state, event);
}

interface Standing {
  readonly retelling: Retelling;
  readonly session: SessionId;
  readonly sequence: number;
  readonly options: OpenCodeOptions;
}

/** A session after a sequence: from the nearest place that was put by, which there is once it was loaded. */
async function standingAt(
  { sessions }: StreamCall,
  { retelling, session, sequence, options }: Standing,
): Promise<Folding> {
  if (sequence > 0) await retelling.find(openCodeSessionId(session));
  const folding: Folding = { ...(await stateBefore(sessions.projections, session, { options, sequence })) };
  const breakDue = openBreaks();
  while (folding.sequence < sequence) {
    const page = await sessions.events(session, { offset: folding.sequence, limit: PAGE, includeRaw: false });
    for (const event of page.events) {
      if (event.sequence <= sequence) step(folding, event);
      await breakDue();
    }
    if (page.events.length === 0) break;
  }
  return folding;
}

const PAGE = 500;

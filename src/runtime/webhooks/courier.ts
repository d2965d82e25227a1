/**
 * One webhook at work: follows the log from its stored position, keeps what is not delivered yet, and delivers it at
 * least once, in order within each session. A session's next event waits until the one before is delivered or dead.
 */
import { webhookType } from "../../core/webhook.ts";
import { DEFAULT_WEBHOOK_EVENTS, type DeadLetter, type Webhook } from "../../protocol/webhooks.ts";
import type { EventGroup } from "../log/contract.ts";
import type { Logger } from "../logger.ts";
import type { OutboundFetch } from "../outbound/fetch.ts";
import type { Sessions } from "../session/contract.ts";
import { type Delivery, deliver } from "./deliver.ts";
import { type Dead, openStateFile, type Reference, type StateFile } from "./state.ts";

export const MAX_TRIES = 10;
const FIRST_DELAY_MS = 5_000;
const MAX_DELAY_MS = 300_000;
/** Beyond that the log is the queue: it is not read further until there is room. */
const MAX_PENDING = 1_000;
const MAX_DEAD = 1_000;
/** The position is stored after this many groups, also where none of them held anything to send. */
const STORED_AFTER = 1_000;
const AT_ONCE = 8;

/** How long after a failed try the next one is made. */
export const delayAfter = (tries: number, firstMs: number): number =>
  Math.min(firstMs * 2 ** Math.max(0, tries - 1), Math.max(firstMs, MAX_DELAY_MS));

interface Pending extends Reference {
  tries: number;
  /** Of `performance.now()`; not stored: a daemon that starts again tries at once. */
  nextAt: number;
}

export interface CourierOptions {
  readonly name: string;
  readonly hook: Webhook;
  readonly sessions: Sessions;
  /** The data folder; null keeps everything in memory. */
  readonly folder: string | null;
  readonly fetch: OutboundFetch;
  readonly environment: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly firstDelayMs?: number | undefined;
}

export interface Courier {
  readonly counts: () => { readonly pending: number; readonly delivered: number; readonly lastError: string | null };
  readonly deadLetters: () => readonly DeadLetter[];
  /** Dead letters are tried again: those with these ids, or all. Says how many. */
  readonly retry: (ids?: readonly string[]) => number;
  /** Stops, and stores how far it was. */
  readonly close: () => Promise<void>;
  /** Stops, and forgets how far it was. */
  readonly remove: () => Promise<void>;
}

interface State {
  position: number;
  delivered: number;
  pending: Pending[];
  dead: Dead[];
  lastError: string | null;
  /** Sessions of which an event is being sent. */
  readonly sending: Set<string>;
  /** Set while the log is not read because too much is pending. */
  room: (() => void) | null;
  timer: NodeJS.Timeout | null;
}

interface Work extends CourierOptions {
  readonly state: State;
  readonly file: StateFile;
  readonly stopped: AbortController;
  readonly sends: Set<Promise<void>>;
}

export function openCourier(options: CourierOptions): Courier {
  const { folder, name, sessions } = options;
  const state: State = {
    position: sessions.position(),
    delivered: 0,
    pending: [],
    dead: [],
    lastError: null,
    sending: new Set(),
    room: null,
    timer: null,
  };
  const stored = () => ({
    position: state.position,
    delivered: state.delivered,
    pending: state.pending.map(({ nextAt: _, ...rest }) => rest),
    dead: state.dead,
  });
  const file = openStateFile({ folder, name, state: stored });
  const former = file.read();
  if (former !== null) {
    // A log that was replaced by a shorter one is followed from its end.
    Object.assign(state, former, { position: Math.min(former.position, state.position) });
    state.pending = former.pending.map((one) => ({ ...one, nextAt: 0 }));
  }
  const work: Work = { ...options, state, file, stopped: new AbortController(), sends: new Set() };
  save(work);
  pump(work);
  const following = follow(work);
  const stop = async (): Promise<void> => {
    work.stopped.abort();
    state.room?.();
    if (state.timer !== null) clearTimeout(state.timer);
    await Promise.all([following, ...work.sends]);
  };
  return {
    counts: () => ({ pending: state.pending.length, delivered: state.delivered, lastError: state.lastError }),
    deadLetters: () => state.dead.map(letterOf),
    retry: (ids) => retryDead(work, ids),
    async close() {
      await stop();
      await file.save().catch(() => {});
    },
    async remove() {
      await stop();
      await file.save().catch(() => {});
      file.remove();
    },
  };
}

const idOf = ({ session, sequence }: Reference): string => `${session}:${sequence}`;

const letterOf = (dead: Dead): DeadLetter => ({
  id: idOf(dead),
  type: dead.type,
  sessionId: dead.session,
  failedAt: dead.failedAt,
  tries: dead.tries,
  error: dead.error,
});

function save({ file, logger, name }: Work): void {
  file
    .save()
    .catch((error: unknown) => logger.error("webhook.state_not_stored", { webhook: name, error: String(error) }));
}

/** Reads the log as it grows. The position moves only after what a group holds is pending, in the same write. */
async function follow(work: Work): Promise<void> {
  const { sessions, state, stopped, hook } = work;
  const { signal } = stopped;
  const wanted: ReadonlySet<string> = new Set(hook.events ?? DEFAULT_WEBHOOK_EVENTS);
  let storedAt = state.position;
  for await (const group of sessions.followAll({ signal, after: state.position })) {
    const found = referencesIn(group, wanted);
    state.position = group.position;
    state.pending.push(...found);
    if (found.length > 0 || state.position - storedAt > STORED_AFTER) {
      storedAt = state.position;
      save(work);
    }
    if (found.length > 0) pump(work);
    while (state.pending.length >= MAX_PENDING && !signal.aborted) {
      await new Promise<void>((resolve) => {
        state.room = resolve;
      });
      state.room = null;
    }
    if (signal.aborted) return;
  }
}

const referencesIn = (group: EventGroup, wanted: ReadonlySet<string>): Pending[] =>
  group.notable().flatMap((event) => {
    const type = webhookType(event);
    if (type === null || !wanted.has(type)) return [];
    return [{ session: event.session_id, sequence: event.sequence, type, tries: 0, nextAt: 0 }];
  });

/** Starts what is due: of each session only its oldest event. */
function pump(work: Work): void {
  const { state, stopped } = work;
  if (state.timer !== null) clearTimeout(state.timer);
  state.timer = null;
  if (stopped.signal.aborted) return;
  const now = performance.now();
  const seen = new Set<string>();
  let next = Number.POSITIVE_INFINITY;
  for (const one of state.pending) {
    if (seen.has(one.session)) continue;
    seen.add(one.session);
    if (state.sending.has(one.session)) continue;
    if (one.nextAt > now) next = Math.min(next, one.nextAt);
    else if (state.sending.size < AT_ONCE) start(work, one);
  }
  if (next !== Number.POSITIVE_INFINITY) state.timer = setTimeout(() => pump(work), Math.max(1, next - now));
}

function start(work: Work, one: Pending): void {
  const { state, sends } = work;
  state.sending.add(one.session);
  const sending = send(work, one).finally(() => {
    state.sending.delete(one.session);
    sends.delete(sending);
    pump(work);
  });
  sends.add(sending);
}

async function send(work: Work, one: Pending): Promise<void> {
  const { hook, sessions, fetch, environment, stopped } = work;
  const { signal } = stopped;
  const delivery = await deliver({ hook, reference: one, sessions, fetch, environment, signal });
  // What was cut off by our own stop is no failed try.
  if (delivery.type === "failed" && signal.aborted) return;
  settle(work, one, delivery);
  save(work);
}

function settle(work: Work, one: Pending, delivery: Delivery): void {
  const { state, logger, name, firstDelayMs = FIRST_DELAY_MS } = work;
  if (delivery.type !== "failed") {
    if (delivery.type === "delivered") {
      state.delivered += 1;
      // The receiver is back: the others need not wait.
      if (state.lastError !== null) for (const other of state.pending) other.nextAt = 0;
      state.lastError = null;
    }
    return drop(state, one);
  }
  one.tries += 1;
  one.nextAt = performance.now() + delayAfter(one.tries, firstDelayMs);
  state.lastError = delivery.error;
  logger.warn("webhook.failed", { webhook: name, event: idOf(one), tries: one.tries, error: delivery.error });
  if (one.tries < MAX_TRIES) return;
  const { session, sequence, type, tries } = one;
  state.dead.push({ session, sequence, type, tries, failedAt: new Date().toISOString(), error: delivery.error });
  state.dead.splice(0, Math.max(0, state.dead.length - MAX_DEAD));
  drop(state, one);
}

function drop(state: State, one: Pending): void {
  state.pending = state.pending.filter((other) => other !== one);
  if (state.pending.length < MAX_PENDING) state.room?.();
}

function retryDead(work: Work, ids: readonly string[] | undefined): number {
  const { state } = work;
  const chosen = state.dead.filter((dead) => ids === undefined || ids.includes(idOf(dead)));
  state.dead = state.dead.filter((dead) => !chosen.includes(dead));
  state.pending.push(
    ...chosen.map(({ session, sequence, type }) => ({ session, sequence, type, tries: 0, nextAt: 0 })),
  );
  save(work);
  pump(work);
  return chosen.length;
}

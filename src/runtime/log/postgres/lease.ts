/**
 * This host's lease. While it is renewed, the host's sessions are its own; when it cannot be renewed, the host gives
 * everything up before the lease ends, by its own clock, and then asks for a new one with a new epoch.
 */
import { ApiError } from "../../../protocol/errors.ts";
import type { Logger } from "../../logger.ts";
import { integer } from "../rows.ts";
import type { Client } from "./client.ts";
import type { Identity } from "./store.ts";

export interface LeaseOptions {
  readonly client: Client;
  readonly host: string;
  /** Where others reach this host: known only when it listens. */
  readonly address: () => string;
  readonly version: string;
  readonly takeOver: boolean;
  readonly labels: readonly string[];
  /** Sessions that may be open here before no more are placed here. */
  readonly maxSessions: number | null;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly logger: Logger;
  /** Each renewal: until when (of `performance.now()`) agents may run. */
  readonly onRenewed: (deadline: number) => void;
}

export interface Lease {
  readonly identity: () => Identity;
  /** Throws when it is over. */
  readonly holder: () => Identity;
  readonly holds: () => boolean;
  /** Whether this host takes nothing new any more. */
  readonly draining: () => boolean;
  readonly onLost: (subscriber: () => Promise<void>) => void;
  /** How often it was lost. */
  readonly lost: () => number;
  /** Until agents must stop without a renewal; 0 when it is over. */
  readonly remainingMs: () => number;
  readonly close: () => Promise<void>;
}

/** The part of a lease after which nothing runs any more: the rest is for stopping what still does. */
const USED = 0.75;

const ADDRESS_MS = 50;
const ADDRESS_LOOKS = 200;

const TAKE = `
  INSERT INTO franca.hosts AS host (id, epoch, url, version, take_over, labels, max_sessions, draining, started,
    lease_until)
  VALUES ($1, 1, $2, $3, $5, $6::text::jsonb, $7, $8, clock_timestamp(),
    clock_timestamp() + $4 * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET epoch = host.epoch + 1, url = excluded.url, version = excluded.version,
    take_over = excluded.take_over, labels = excluded.labels, max_sessions = excluded.max_sessions,
    draining = excluded.draining, started = excluded.started, lease_until = excluded.lease_until
  RETURNING epoch`;
/** One that has ended is not renewed: another host may have taken sessions since. */
const RENEW = `
  UPDATE franca.hosts SET lease_until = clock_timestamp() + $3 * interval '1 millisecond', url = $4
  WHERE id = $1 AND epoch = $2 AND lease_until > clock_timestamp() RETURNING draining`;
const END = "UPDATE franca.hosts SET lease_until = clock_timestamp() WHERE id = $1 AND epoch = $2";

interface State extends LeaseOptions {
  readonly subscribers: (() => Promise<void>)[];
  epoch: number;
  draining: boolean;
  deadline: number;
  lost: boolean;
  losses: number;
  closed: boolean;
  /** Whether a question to the database is under way. */
  asking: boolean;
  /** Whether what ran under the lost lease is still being stopped. */
  givingUp: boolean;
  timer: NodeJS.Timeout | null;
  deadlineTimer: NodeJS.Timeout | null;
}

export async function openLease(options: LeaseOptions): Promise<Lease> {
  const state: State = {
    ...options,
    subscribers: [],
    epoch: 0,
    draining: false,
    deadline: 0,
    lost: false,
    losses: 0,
    closed: false,
    asking: false,
    givingUp: false,
    timer: null,
    deadlineTimer: null,
  };
  await take(state);
  state.timer = setInterval(() => beatInBackground(state), options.heartbeatMs);
  state.timer.unref();
  if (options.address() === "") announce(state, ADDRESS_LOOKS);
  const identity = (): Identity => ({ host: state.host, epoch: state.epoch });
  const holds = (): boolean => !state.lost && !state.closed && performance.now() < state.deadline;
  return {
    identity,
    holds,
    draining: () => state.draining,
    lost: () => state.losses,
    remainingMs: () => (holds() ? state.deadline - performance.now() : 0),
    holder() {
      if (holds()) return identity();
      throw new ApiError(
        "storage_error",
        `This host could not renew its lease in ${state.client.place.name}: it continues when the database can be reached.`,
      );
    },
    onLost: (subscriber) => void state.subscribers.push(subscriber),
    async close() {
      state.closed = true;
      stopTimers(state);
      // A host that ends in order need not be waited for.
      await state.client.query(END, state.host, state.epoch).catch(() => {});
    },
  };
}

/** A host is entered before it listens; its address is published as soon as it is known. */
function announce(state: State, looks: number): void {
  if (state.closed || looks === 0) return;
  if (state.address() !== "") beatInBackground(state);
  else setTimeout(() => announce(state, looks - 1), ADDRESS_MS).unref();
}

async function take(state: State): Promise<void> {
  const { client, host, address, version, leaseMs, takeOver, labels, maxSessions, draining } = state;
  const sent = performance.now();
  const values = [host, address(), version, leaseMs, takeOver, JSON.stringify(labels), maxSessions, draining];
  const [row = {}] = await client.query(TAKE, ...values);
  state.epoch = integer(row, "epoch");
  state.lost = false;
  renewed(state, sent);
}

function beatInBackground(state: State): void {
  beat(state).catch((error: unknown) => state.logger.warn("lease.not_renewed", { error }));
}

async function beat(state: State): Promise<void> {
  if (state.asking || state.givingUp || state.closed) return;
  state.asking = true;
  try {
    await (state.lost ? take(state) : renew(state));
  } catch (error) {
    state.logger.warn("lease.not_renewed", { error });
  } finally {
    state.asking = false;
  }
}

async function renew(state: State): Promise<void> {
  const { client, host, epoch, leaseMs, address } = state;
  const sent = performance.now();
  const rows = await client.query(RENEW, host, epoch, leaseMs, address());
  if (state.lost || state.closed || epoch !== state.epoch) return;
  const [row] = rows;
  if (row === undefined) return lose(state);
  state.draining = row.draining === true;
  renewed(state, sent);
}

/** Counted from when the renewal was sent: the database counts from later. */
function renewed(state: State, sent: number): void {
  state.deadline = sent + state.leaseMs * USED;
  if (state.deadlineTimer !== null) clearTimeout(state.deadlineTimer);
  if (state.closed) return;
  const onDeadline = (): void => {
    lose(state).catch((error: unknown) => state.logger.error("lease.not_given_up", { error }));
  };
  state.deadlineTimer = setTimeout(onDeadline, Math.max(0, state.deadline - performance.now()));
  state.deadlineTimer.unref();
  state.onRenewed(state.deadline);
}

/** No new lease before everything of the old one has been given up. */
async function lose(state: State): Promise<void> {
  if (state.lost || state.closed) return;
  state.lost = true;
  state.losses += 1;
  state.givingUp = true;
  state.logger.error("lease.lost", { host: state.host, epoch: state.epoch });
  await Promise.allSettled(state.subscribers.map((subscriber) => subscriber()));
  state.givingUp = false;
}

function stopTimers(state: State): void {
  if (state.timer !== null) clearInterval(state.timer);
  if (state.deadlineTimer !== null) clearTimeout(state.deadlineTimer);
}

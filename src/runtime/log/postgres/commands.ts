/**
 * Commands between hosts. A sender stores one and waits; the host of its session claims it, executes it once and stores
 * the answer. Notifications wake both; a regular look finds what a cut connection missed.
 */
import { ApiError } from "../../../protocol/errors.ts";
import { sessionId } from "../../../protocol/ids.ts";
import type { CommandOutcome, CommandTable, SentCommand, StoredCommand } from "../hosts-contract.ts";
import { type Row, text } from "../rows.ts";
import { toPrompt } from "../stored-records.ts";
import { MAY_RUN } from "./placement.ts";
import type { Store } from "./store.ts";

export const COMMAND_CHANNEL = "franca_commands";
const LOOK_MS = 1_000;
/** Besides two leases: the session's host may have to be found dead, and another one take over. */
const CLAIM_MS = 5_000;
/** How long a command may run: longer than any answer of an agent is waited for. */
const ANSWER_MS = 180_000;
const CLAIMED_AT_ONCE = 100;

const SEND = `
  WITH added AS (
    INSERT INTO franca.commands (id, session, sender, name, body, target, state, created)
    VALUES ($1, $2, $3, $4, $5, $6, 'waiting', clock_timestamp()) ON CONFLICT (id) DO NOTHING RETURNING id
  )
  SELECT pg_notify('${COMMAND_CHANNEL}', coalesce($6, (SELECT home FROM franca.sessions WHERE sessions.id = $2), ''))
  FROM added`;
/** Only by a host whose lease holds, of sessions that it may run. */
const CLAIM = `
  UPDATE franca.commands SET state = 'claimed', claimed_by = $1, claimed_epoch = $2
  WHERE ordinal IN (
    SELECT command.ordinal FROM franca.commands AS command
      JOIN franca.hosts AS me ON me.id = $1
      LEFT JOIN franca.sessions AS session ON session.id = command.session
      LEFT JOIN franca.hosts AS home ON home.id = session.home
    WHERE command.state = 'waiting' AND command.created > clock_timestamp() - $3 * interval '1 millisecond'
      AND CASE WHEN command.target IS NULL THEN session.id IS NOT NULL AND ${MAY_RUN} ELSE command.target = $1 END
    ORDER BY command.ordinal LIMIT ${CLAIMED_AT_ONCE} FOR UPDATE OF command SKIP LOCKED
  ) AND EXISTS (SELECT 1 FROM franca.hosts WHERE id = $1 AND epoch = $2 AND lease_until > clock_timestamp())
  RETURNING id`;
/** Asked for after a claim, whose own answer may have been lost. */
const CLAIMED = `
  SELECT id, session, name, body FROM franca.commands
  WHERE state = 'claimed' AND claimed_by = $1 AND claimed_epoch = $2 ORDER BY ordinal`;
const FINISH = `
  WITH done AS (
    UPDATE franca.commands SET state = 'done', answer = $4
    WHERE id = $3 AND state = 'claimed' AND claimed_by = $1 AND claimed_epoch = $2 RETURNING sender
  )
  SELECT pg_notify('${COMMAND_CHANNEL}', sender) FROM done`;
/**
 * The end of a lease ends what was claimed under it, and what waits for a session that is gone ends too. Whichever is
 * stored first counts: the answer, or this.
 */
const INTERRUPT = `
  UPDATE franca.commands AS command SET state = 'done', answer = NULL
  WHERE command.sender = $1 AND (command.state = 'claimed' AND NOT EXISTS (
    SELECT 1 FROM franca.hosts AS host
    WHERE host.id = command.claimed_by AND host.epoch = command.claimed_epoch AND host.lease_until > clock_timestamp()
  ) OR command.state = 'waiting' AND command.target IS NULL
    AND NOT EXISTS (SELECT 1 FROM franca.sessions WHERE sessions.id = command.session))
  RETURNING id`;
const ANSWERS = "SELECT id, session, answer, claimed_by FROM franca.commands WHERE sender = $1 AND state = 'done'";
const PROMPT = `
  SELECT prompt.* FROM franca.prompts AS prompt JOIN franca.sessions AS session ON session.key = prompt.session
  WHERE session.id = $1 AND prompt.idempotency_key = $2`;
/** What nobody waits for any more: its sender has ended, or has started again. */
const SWEEP = "DELETE FROM franca.commands WHERE created < clock_timestamp() - interval '1 hour'";

interface Options {
  readonly leaseMs: number;
  /** Hears of work that failed; it is tried again. */
  readonly onError: (error: unknown) => void;
}

interface Waiting {
  readonly command: SentCommand;
  readonly settle: (outcome: CommandOutcome) => void;
  readonly fail: (error: unknown) => void;
  readonly claimBy: number;
  readonly answerBy: number;
}

interface Begun {
  readonly epoch: number;
  answer: string | null;
}

interface State extends Options {
  readonly store: Store;
  readonly waiting: Map<string, Waiting>;
  /** What was begun here in this life, so that it is not begun twice; with its answer when it has one. */
  readonly begun: Map<string, Begun>;
  execute: ((command: StoredCommand) => Promise<string>) | null;
  /** A look is under way; another one follows it when something came meanwhile. */
  looking: boolean;
  again: boolean;
  closed: boolean;
}

export interface OpenCommands extends CommandTable {
  readonly close: () => void;
}

export async function openCommands(store: Store, options: Options): Promise<OpenCommands> {
  const state: State = {
    ...options,
    store,
    waiting: new Map(),
    begun: new Map(),
    execute: null,
    looking: false,
    again: false,
    closed: false,
  };
  await store.client.listen(COMMAND_CHANNEL, (host) => {
    if (host === null || host === store.identity().host) void look(state);
  });
  await store.client.query(SWEEP);
  const timer = setInterval(() => void look(state), LOOK_MS).unref();
  return {
    send: (command) => send(state, command),
    serve(execute) {
      state.execute = execute;
      void look(state);
    },
    pause() {
      state.execute = null;
    },
    close() {
      state.closed = true;
      clearInterval(timer);
      const error = new ApiError("internal", "Franca is shutting down.");
      for (const { fail } of state.waiting.values()) fail(error);
      state.waiting.clear();
    },
  };
}

const waitMs = ({ leaseMs }: Options): number => 2 * leaseMs + CLAIM_MS;

async function send(state: State, command: SentCommand): Promise<CommandOutcome> {
  const { store } = state;
  const { id, session, name, body, target } = command;
  const now = performance.now();
  const claimBy = now + waitMs(state);
  const outcome = new Promise<CommandOutcome>((settle, fail) => {
    state.waiting.set(id, { command, settle, fail, claimBy, answerBy: now + ANSWER_MS });
  });
  outcome.catch(() => {});
  try {
    await store.client.read(SEND, id, session, store.identity().host, name, body, target);
    return await outcome;
  } finally {
    state.waiting.delete(id);
    // One that never reached the database, or was answered: what stays is removed later.
    store.client.query("DELETE FROM franca.commands WHERE id = $1 AND state <> 'claimed'", id).catch(() => {});
  }
}

/** One after the other; whatever came during one is found by the next. */
async function look(state: State): Promise<void> {
  state.again = true;
  if (state.looking) return;
  state.looking = true;
  while (state.again && !state.closed) {
    state.again = false;
    // Each for itself: a host without a lease still waits for answers.
    for (const work of [answer, collect, claim]) {
      await work(state).catch((error: unknown) => {
        if (!state.closed) state.onError(error);
      });
    }
  }
  state.looking = false;
}

/** Stores answers; one that cannot be stored is tried again until its lease has ended. */
async function answer({ store, begun }: State): Promise<void> {
  const { host, epoch: now } = store.identity();
  for (const [id, { epoch, answer: given }] of begun) {
    if (epoch === now && given === null) continue;
    if (epoch === now && given !== null) await store.client.query(FINISH, host, epoch, id, given);
    begun.delete(id);
  }
}

async function collect({ store, waiting }: State): Promise<void> {
  if (waiting.size === 0) return;
  const { host } = store.identity();
  const answered = async (): Promise<void> => {
    for (const row of await store.client.read(ANSWERS, host)) {
      const id = text(row, "id");
      const one = waiting.get(id);
      if (one === undefined) continue;
      one.settle(await outcomeOf(store, one.command, row));
      waiting.delete(id);
    }
  };
  await answered();
  if (waiting.size === 0) return;
  if ((await store.client.query(INTERRUPT, host)).length > 0) await answered();
  const now = performance.now();
  for (const { command, settle, claimBy, answerBy } of [...waiting.values()]) {
    if (now > answerBy) settle({ type: "late" });
    else if (now > claimBy && (await isWithdrawn(store, command.id))) settle({ type: "withdrawn" });
  }
}

/** Claims what waits, and begins all that is claimed and was not begun, in the order in which it was sent. */
async function claim(state: State): Promise<void> {
  const { store, execute, begun } = state;
  if (execute === null || !store.holds()) return;
  const { host, epoch } = store.holder();
  const claimed = await store.client.query(CLAIM, host, epoch, waitMs(state)).catch((error: unknown) => {
    // Its answer may have been lost.
    state.onError(error);
    return null;
  });
  if (claimed !== null && claimed.length === 0) return;
  for (const row of await store.client.read(CLAIMED, host, epoch)) {
    const command = toCommand(row);
    if (begun.has(command.id)) continue;
    const one: Begun = { epoch, answer: null };
    begun.set(command.id, one);
    void execute(command).then((given) => {
      one.answer = given;
      return look(state);
    });
  }
}

async function outcomeOf({ client }: Store, command: SentCommand, row: Row): Promise<CommandOutcome> {
  if (typeof row.answer === "string") return { type: "answered", answer: row.answer };
  if (row.claimed_by === null) return { type: "withdrawn" };
  const { session, idempotencyKey } = command;
  const [found] = idempotencyKey === null ? [] : await client.read(PROMPT, session, idempotencyKey);
  return { type: "interrupted", host: text(row, "claimed_by"), prompt: found === undefined ? null : toPrompt(found) };
}

async function isWithdrawn({ client }: Store, id: string): Promise<boolean> {
  const removed = await client.query(
    "DELETE FROM franca.commands WHERE id = $1 AND state = 'waiting' RETURNING id",
    id,
  );
  if (removed.length > 0) return true;
  // Where even its row is gone, because the first statement failed unnoticed or somebody removed it.
  return (await client.read("SELECT 1 FROM franca.commands WHERE id = $1", id)).length === 0;
}

const toCommand = (row: Row): StoredCommand => ({
  id: text(row, "id"),
  session: sessionId(text(row, "session")),
  name: text(row, "name"),
  body: text(row, "body"),
});

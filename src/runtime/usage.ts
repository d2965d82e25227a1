/**
 * What all sessions used, by day, agent, model or folder, from the events of the log. Read when somebody asks, and from
 * then on only what was appended since the last question. A turn counts in the hour in which it began.
 */
import { addSpent, type Books, keepBooks, nothingSpent, price, type Spent, startBooks } from "../core/spent.ts";
import type { Prices } from "../protocol/budget.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { UsageBy, UsageRow } from "../protocol/resources.ts";
import type { EventGroup, Follow } from "./log/contract.ts";

export interface UsageQuery {
  readonly by: UsageBy;
  /** How many days back; today is the first. */
  readonly days: number;
  /** How far the asker's clock is ahead of UTC. */
  readonly offsetMinutes: number;
}

export interface UsageReader {
  readonly rows: (query: UsageQuery) => Promise<readonly UsageRow[]>;
  /** What was used since a moment, at an hour's precision: by all sessions but one, and by that one. */
  readonly since: (moment: number, own: { readonly session: string; readonly agent: string }) => Promise<SpentSince>;
  /** What these sessions have used, ever. */
  readonly of: (sessions: ReadonlySet<string>) => Promise<Spent>;
}

export interface SpentSince {
  readonly others: { readonly day: Spent; readonly agent: Spent };
  /** What the session had used before that moment. */
  readonly ownBefore: Spent;
}

/** What one agent used with one model in one folder in one hour: a day begins at another hour for everybody. */
interface Used {
  readonly hour: number;
  readonly session: string;
  readonly agent: string;
  readonly model: string;
  readonly folder: string;
  turns: number;
  spent: Spent;
}

/** A session's books, and the turn that was not added to what was used yet. */
interface Account {
  readonly books: Books;
  agent: string;
  folder: string;
  hour: number | null;
}

interface State {
  position: number;
  readonly used: Map<string, Used>;
  readonly accounts: Map<string, Account>;
}

export interface UsageSource {
  readonly followAll: (follow: Follow) => AsyncIterable<EventGroup>;
  readonly position: () => number;
  readonly prices: () => Prices;
  readonly signal: AbortSignal;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export function openUsage(source: UsageSource): UsageReader {
  const state: State = { position: 0, used: new Map(), accounts: new Map() };
  let reading: Promise<void> = Promise.resolve();
  const caughtUp = (): Promise<void> => {
    reading = reading.catch(() => {}).then(() => catchUp(state, source));
    return reading;
  };
  return {
    async rows(query) {
      await caughtUp();
      return rowsOf(allUsed(state), { ...query, prices: source.prices() });
    },
    async since(moment, own) {
      await caughtUp();
      return spentSince(allUsed(state), { hour: Math.floor(moment / HOUR_MS), ...own });
    },
    async of(sessions) {
      await caughtUp();
      const theirs = [...allUsed(state)].filter(({ session }) => sessions.has(session));
      return theirs.reduce((sum, { spent }) => addSpent(sum, spent), nothingSpent);
    },
  };
}

async function catchUp(state: State, { followAll, position, signal }: UsageSource): Promise<void> {
  const end = position();
  if (state.position >= end) return;
  for await (const group of followAll({ signal, after: state.position })) {
    for (const event of group.notable()) count(state, event);
    state.position = group.position;
    if (group.position >= end) return;
  }
}

function count(state: State, event: UniversalEvent): void {
  const account = accountOf(state, event.session_id);
  switch (event.type) {
    case "session.started":
      account.agent = event.data.metadata.agent;
      account.folder = event.data.metadata.directory ?? "";
      break;
    case "session.updated":
      account.agent = event.data.agent ?? account.agent;
      account.folder = event.data.directory ?? account.folder;
      break;
    case "turn.started":
      closeTurn(state, { session: event.session_id, account });
      account.hour = Math.floor(Date.parse(event.time) / HOUR_MS);
      break;
    default:
      break;
  }
  keepBooks(account.books, event, Date.parse(event.time));
}

function accountOf({ accounts }: State, session: string): Account {
  const known = accounts.get(session) ?? { books: startBooks(), agent: "unknown", folder: "", hour: null };
  accounts.set(session, known);
  return known;
}

interface Turn {
  readonly session: string;
  readonly account: Account;
}

/** The last turn is final when the next one begins: until then late usage may still come. */
function closeTurn({ used }: State, turn: Turn): void {
  const one = usedInTurn(turn);
  if (one === null) return;
  const key = `${one.hour} ${one.session} ${one.agent} ${one.model}`;
  const known = used.get(key) ?? { ...one, turns: 0, spent: nothingSpent };
  known.turns += 1;
  known.spent = addSpent(known.spent, one.spent);
  used.set(key, known);
}

function usedInTurn({ session, account }: Turn): Used | null {
  const { agent, folder, hour, books } = account;
  if (hour === null) return null;
  return { hour, session, agent, model: books.model, folder, turns: 1, spent: books.turn };
}

function* allUsed({ used, accounts }: State): Generator<Used> {
  yield* used.values();
  for (const [session, account] of accounts) {
    const one = usedInTurn({ session, account });
    if (one !== null) yield one;
  }
}

function spentSince(
  all: Iterable<Used>,
  { hour, session, agent }: { hour: number; session: string; agent: string },
): SpentSince {
  let day = nothingSpent;
  let ofAgent = nothingSpent;
  let ownBefore = nothingSpent;
  for (const one of all) {
    if (one.session === session) {
      if (one.hour < hour) ownBefore = addSpent(ownBefore, one.spent);
    } else if (one.hour >= hour) {
      day = addSpent(day, one.spent);
      if (one.agent === agent) ofAgent = addSpent(ofAgent, one.spent);
    }
  }
  return { others: { day, agent: ofAgent }, ownBefore };
}

interface Row {
  turns: number;
  spent: Spent;
}

function rowsOf(
  all: Iterable<Used>,
  { by, days, offsetMinutes, prices }: UsageQuery & { readonly prices: Prices },
): UsageRow[] {
  const local = (at: number): number => at + offsetMinutes * MINUTE_MS;
  const today = Math.floor(local(Date.now()) / DAY_MS);
  const rows = new Map<string, Row>();
  for (const one of all) {
    const day = Math.floor(local(one.hour * HOUR_MS) / DAY_MS);
    if (day <= today - days) continue;
    const key = by === "day" ? new Date(day * DAY_MS).toISOString().slice(0, 10) : nameOf(one, by);
    const row = rows.get(key) ?? { turns: 0, spent: nothingSpent };
    row.turns += one.turns;
    row.spent = addSpent(row.spent, one.spent);
    rows.set(key, row);
  }
  const list = [...rows].map(([key, row]) => rowOf(key, row, prices));
  if (by === "day") return list.sort((a, b) => (a.key < b.key ? -1 : 1));
  return list.sort((a, b) => cost(b) - cost(a) || (a.key < b.key ? -1 : 1));
}

const nameOf = (used: Used, by: "agent" | "model" | "folder"): string => (used[by] === "" ? "unknown" : used[by]);

const cost = ({ usage, estimatedUsd }: UsageRow): number => (usage.cost_usd ?? 0) + (estimatedUsd ?? 0);

function rowOf(key: string, { turns, spent }: Row, prices: Prices): UsageRow {
  const { tokens, steps, toolCalls, timeMs, unpriced } = spent;
  const { estimated, unknown } = price(spent, prices);
  const isComplete = Object.keys(unpriced).length === 0;
  const priced = spent.cost === null ? "none" : isComplete ? "full" : "partial";
  return {
    key,
    turns,
    steps,
    toolCalls,
    timeMs,
    usage: { tokens, cost_usd: spent.cost, priced },
    estimatedUsd: Object.keys(unpriced).length > unknown.length ? estimated : null,
    unknownPrices: unknown.map((model) => (model === "" ? "unknown" : model)),
  };
}

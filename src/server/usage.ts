/**
 * Tokens and cost by day and by agent, from the usage events of the log. Read when somebody asks, and from then on only
 * what was appended since the last question.
 */
import { addTokens, tokensBeyond } from "../core/tokens.ts";
import type { Tokens, UniversalEvent, UsageTotal } from "../protocol/events.ts";
import type { UsageRow } from "../protocol/resources.ts";
import type { Sessions } from "../runtime/session/contract.ts";

export interface UsageQuery {
  readonly by: "day" | "agent";
  /** How many days back; today is the first. */
  readonly days: number;
  /** How far the asker's clock is ahead of UTC. */
  readonly offsetMinutes: number;
}

export interface UsageReader {
  readonly read: (query: UsageQuery) => Promise<readonly UsageRow[]>;
}

/** What one agent used in one hour: a day begins at another hour for everybody. */
interface Used {
  readonly agent: string;
  readonly hour: number;
  turns: number;
  tokens: Tokens;
  cost: number | null;
}

interface State {
  position: number;
  readonly used: Map<string, Used>;
  readonly agents: Map<string, string>;
  /** The latest totals of each session: events carry totals, and the difference is what is new. */
  readonly totals: Map<string, UsageTotal>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export function openUsage({ sessions, signal }: { sessions: Sessions; signal: AbortSignal }): UsageReader {
  const state: State = { position: 0, used: new Map(), agents: new Map(), totals: new Map() };
  let reading: Promise<void> = Promise.resolve();
  return {
    read: async (query) => {
      reading = reading.catch(() => {}).then(() => catchUp(state, { sessions, signal }));
      await reading;
      return rowsOf(state, query);
    },
  };
}

async function catchUp(state: State, { sessions, signal }: { sessions: Sessions; signal: AbortSignal }): Promise<void> {
  const end = sessions.position();
  if (state.position >= end) return;
  for await (const group of sessions.followAll({ signal, after: state.position })) {
    for (const event of group.notable()) count(state, event);
    state.position = group.position;
    if (group.position >= end) return;
  }
}

function count(state: State, event: UniversalEvent): void {
  const { session_id } = event;
  switch (event.type) {
    case "session.started":
      state.agents.set(session_id, event.data.metadata.agent);
      return;
    case "session.updated":
      if (event.data.agent !== undefined) state.agents.set(session_id, event.data.agent);
      return;
    case "turn.started":
      usedBy(state, event).turns += 1;
      return;
    case "usage.updated":
      return add(state, event, event.data.session);
    default:
      return;
  }
}

function add(state: State, event: UniversalEvent, total: UsageTotal): void {
  const before = state.totals.get(event.session_id);
  state.totals.set(event.session_id, total);
  const used = usedBy(state, event);
  used.tokens = addTokens(used.tokens, before === undefined ? total.tokens : tokensBeyond(total.tokens, before.tokens));
  if (total.cost_usd === null) return;
  used.cost = (used.cost ?? 0) + Math.max(0, total.cost_usd - (before?.cost_usd ?? 0));
}

function usedBy({ used, agents }: State, { session_id, time }: UniversalEvent): Used {
  const agent = agents.get(session_id) ?? "unknown";
  const hour = Math.floor(Date.parse(time) / HOUR_MS);
  const key = `${hour} ${agent}`;
  const known = used.get(key) ?? { agent, hour, turns: 0, tokens: NOTHING, cost: null };
  used.set(key, known);
  return known;
}

const NOTHING: Tokens = { input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 };

function rowsOf({ used }: State, { by, days, offsetMinutes }: UsageQuery): UsageRow[] {
  const local = (at: number): number => at + offsetMinutes * MINUTE_MS;
  const today = Math.floor(local(Date.now()) / DAY_MS);
  const rows = new Map<string, Used & { priced: number; all: number }>();
  for (const one of used.values()) {
    const day = Math.floor(local(one.hour * HOUR_MS) / DAY_MS);
    if (day <= today - days) continue;
    const key = by === "agent" ? one.agent : new Date(day * DAY_MS).toISOString().slice(0, 10);
    const row = rows.get(key) ?? { ...one, turns: 0, tokens: NOTHING, cost: null, priced: 0, all: 0 };
    row.turns += one.turns;
    row.tokens = addTokens(row.tokens, one.tokens);
    row.all += 1;
    if (one.cost !== null) {
      row.cost = (row.cost ?? 0) + one.cost;
      row.priced += 1;
    }
    rows.set(key, row);
  }
  const list = [...rows].map(([key, { turns, tokens, cost, priced, all }]): UsageRow => {
    const share = priced === 0 ? "none" : priced === all ? "full" : "partial";
    return { key, turns, usage: { tokens, cost_usd: cost, priced: share } };
  });
  if (by === "day") return list.sort((a, b) => (a.key < b.key ? -1 : 1));
  return list.sort((a, b) => (b.usage.cost_usd ?? 0) - (a.usage.cost_usd ?? 0) || (a.key < b.key ? -1 : 1));
}

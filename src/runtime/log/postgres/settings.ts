/** Settings of sessions as the Postgres log stores them: without secrets, which stay with the host that has them. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { SessionSettings } from "../contract.ts";
import { type Row, text } from "../rows.ts";
import { restore, type Values, withhold } from "../secrets.ts";
import type { Queries } from "./client.ts";
import type { Vault } from "./vault.ts";

export interface SealedSettings {
  /** For the table. */
  readonly text: string;
  /** For this host's vault; null where nothing changes there. */
  readonly values: Values | null;
}

/** What only repeats this host's environment is not stored: a new value there counts after a restart. */
export function seal(vault: Vault, id: SessionId, settings: SessionSettings): SealedSettings {
  const { stored, values } = withhold(settings);
  const held = vault.of(id);
  const known = new Set((settings.withheld ?? []).map(({ at }) => JSON.stringify(at)));
  const variables = new Map((stored.withheld ?? []).map(({ at, variable }) => [JSON.stringify(at), variable]));
  const isOwn = ([name, value]: readonly [string, string]): boolean =>
    !known.has(name) || held[name] !== undefined || process.env[variables.get(name) ?? ""] !== value;
  const kept: Values = Object.fromEntries(Object.entries(values).filter(isOwn));
  const { missing } = settings;
  const changed = JSON.stringify(kept) !== JSON.stringify(held);
  const written = missing === undefined ? stored : { ...stored, missing };
  return { text: JSON.stringify(written), values: changed ? kept : null };
}

export const settingsIn = (row: Row): SessionSettings => {
  const settings: SessionSettings = JSON.parse(text(row, "settings"));
  return settings;
};

/** With this host's values, and the names of what this host has not. */
export const unseal = (vault: Vault, id: SessionId, settings: SessionSettings): SessionSettings =>
  settings.withheld === undefined ? settings : restore(settings, vault.of(id));

/** Written where this host takes a session: the others read there what it lacks. */
export function withMissing(vault: Vault, id: SessionId, row: Row): string {
  const stored = settingsIn(row);
  if (stored.withheld === undefined) return text(row, "settings");
  const { missing: _, ...rest } = stored;
  const { missing } = unseal(vault, id, stored);
  return JSON.stringify(missing === undefined ? rest : { ...rest, missing });
}

const EXISTING = "SELECT id FROM franca.sessions WHERE id IN (SELECT jsonb_array_elements_text($1::text::jsonb))";

/** Values of sessions that are gone, which another host may have deleted. */
export async function sweepVault(vault: Vault, query: Queries["query"]): Promise<void> {
  const sessions = vault.sessions();
  if (sessions.length === 0) return;
  const rows = await query(EXISTING, JSON.stringify(sessions));
  const existing = new Set(rows.map((row) => text(row, "id")));
  for (const id of sessions) if (!existing.has(id)) vault.drop(id);
}

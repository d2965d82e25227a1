/**
 * Provider keys that a person's shell has and the daemon has not: given for one session, held in memory alone. Only
 * their names are stored, so that after a restart a prompt can say which key is missing.
 */
import { ApiError } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import { noExit } from "../agent/connection/contract.ts";
import type { SessionSettings } from "../log/contract.ts";
import { type OpenSession, stopAgent } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";

export type Keys = Readonly<Record<string, string>>;

export interface KeyRing {
  /** The same object until other keys are given. */
  readonly of: (id: SessionId) => Keys;
  readonly give: (id: SessionId, keys: Keys) => void;
  readonly drop: (id: SessionId) => void;
}

const NONE: Keys = {};

export function openKeyRing(): KeyRing {
  const held = new Map<SessionId, Keys>();
  return {
    of: (id) => held.get(id) ?? NONE,
    give: (id, keys) => void held.set(id, { ...held.get(id), ...keys }),
    drop: (id) => void held.delete(id),
  };
}

const isSet = (name: string): boolean => (process.env[name] ?? "") !== "";

/** The names that the session's agent takes and nobody gave. */
export function missingKeys({ keys, binaries }: Runtime, { id, adapter, settings }: OpenSession) {
  const names = adapter.credentials?.variables ?? [];
  const given: Keys = { ...settings.create.env, ...keys.of(id) };
  return {
    missing: names.filter((name) => given[name] === undefined && !isSet(name)),
    credentialsAvailable:
      binaries.candidate(adapter).credentialsAvailable || names.some((name) => given[name] !== undefined),
  };
}

export async function giveKeys(runtime: Runtime, open: OpenSession, given: Keys): Promise<void> {
  const { adapter, id } = open;
  const taken = [...(adapter.credentials?.variables ?? []), ...(open.settings.missing ?? [])];
  const strange = Object.keys(given).filter((name) => !taken.includes(name));
  if (strange.length > 0) {
    const known = taken.length === 0 ? "none" : taken.join(", ");
    throw new ApiError("invalid_request", `${adapter.name} takes these keys: ${known}. Another was given.`);
  }
  const held = runtime.keys.of(id);
  const isNew = Object.entries(given).some(([name, value]) => held[name] !== value);
  if (!isNew) return;
  const keyNames = [...new Set([...(open.settings.keyNames ?? []), ...Object.keys(given)])];
  const settings = { ...open.settings, keyNames };
  await runtime.log.changeSettings(id, settings);
  open.settings = settings;
  runtime.keys.give(id, given);
  // An agent that waits for its next prompt was started without them.
  if (open.link.isOpen() && open.session.snapshot().turn === null) await stopAgent(open, noExit);
}

interface OfSession {
  readonly id: SessionId;
  readonly settings: SessionSettings;
}

/** A value that was given once and is gone since: the agent's own refusal would not say why. */
export function refuseMissingKeys({ keys }: Pick<Runtime, "keys">, { id, settings }: OfSession): void {
  const held = keys.of(id);
  const lacking = missingVariables(settings, held);
  if (lacking.length > 0) {
    const names = lacking.join(", ");
    const why = `this host was started without ${names}, which session ${id} was created with; secrets are in no table`;
    throw new ApiError("key_missing", `${why}. Start this host with it, or move the session to a host that has it.`);
  }
  const gone = (settings.keyNames ?? []).filter((name) => held[name] === undefined && !isSet(name));
  if (gone.length === 0) return;
  throw new ApiError(
    "key_missing",
    `the daemon was started without ${gone.join(", ")}: restart it, or send the prompt with franca run -r ${id} from a shell that has it.`,
  );
}

/** What this host has no value of; keys that were given since count where the agent itself takes them. */
function missingVariables({ missing = [], withheld = [] }: SessionSettings, held: Keys): readonly string[] {
  const isOfAgent = (name: string): boolean =>
    withheld.every(({ at, variable }) => variable !== name || at[0] === "env");
  return missing.filter((name) => held[name] === undefined || !isOfAgent(name));
}

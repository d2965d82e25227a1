/**
 * Credentials of sessions whose agents may ask other agents: made here, held in memory alone, good for nothing but the
 * MCP endpoint of this daemon, and gone with the session's agent.
 */
import { createHash, randomBytes } from "node:crypto";
import type { McpServer } from "../../core/launch.ts";
import type { SessionId } from "../../protocol/ids.ts";

const BYTES = 32;

export interface DelegateKeys {
  /** Null when this process has no endpoint that an agent could reach. */
  readonly canServe: boolean;
  /** The MCP server that the session's agent gets, the same until it is revoked. */
  readonly serverOf: (id: SessionId) => McpServer | null;
  /** Whose credential this is; null for anything else. */
  readonly holderOf: (credential: string) => SessionId | null;
  readonly revoke: (id: SessionId) => void;
}

/** `serve`: how an agent starts the MCP server, with a credential of its session. */
export type ServeDelegate = (session: { readonly id: SessionId; readonly credential: string }) => McpServer;

export function openDelegateKeys(serve: ServeDelegate | null): DelegateKeys {
  const servers = new Map<SessionId, { readonly hash: string; readonly server: McpServer }>();
  const holders = new Map<string, SessionId>();
  return {
    canServe: serve !== null,
    serverOf(id) {
      if (serve === null) return null;
      const known = servers.get(id);
      if (known !== undefined) return known.server;
      const credential = randomBytes(BYTES).toString("base64url");
      const made = { hash: hashOf(credential), server: serve({ id, credential }) };
      servers.set(id, made);
      holders.set(made.hash, id);
      return made.server;
    },
    holderOf: (credential) => holders.get(hashOf(credential)) ?? null,
    revoke(id) {
      const known = servers.get(id);
      if (known !== undefined) holders.delete(known.hash);
      servers.delete(id);
    },
  };
}

/** Looking up a hash reveals nothing of the value, however long it takes. */
const hashOf = (value: string): string => createHash("sha256").update(value).digest("base64url");

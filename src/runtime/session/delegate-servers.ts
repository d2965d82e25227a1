/** MCP servers of sessions whose agents may delegate work. Each holds a credential that ends with the agent. */
import type { McpServer } from "../../core/launch.ts";
import type { SessionId } from "../../protocol/ids.ts";

/** Makes the MCP server of a session's agent. Absent where there is no endpoint that it could reach. */
export type ServeDelegate = (session: SessionId) => DelegateServer;

export interface DelegateServer {
  readonly server: McpServer;
  /** Revokes its credential. */
  readonly end: () => void;
}

export interface DelegateServers {
  /** Whether agents of this process can delegate to other agents. */
  readonly canServe: boolean;
  /** The MCP server that the session's agent gets, the same until it is ended. */
  readonly serverOf: (id: SessionId) => McpServer | null;
  readonly end: (id: SessionId) => void;
}

export function openDelegateServers(serve: ServeDelegate | null): DelegateServers {
  const servers = new Map<SessionId, DelegateServer>();
  return {
    canServe: serve !== null,
    serverOf(id) {
      if (serve === null) return null;
      const known = servers.get(id) ?? serve(id);
      servers.set(id, known);
      return known.server;
    },
    end(id) {
      servers.get(id)?.end();
      servers.delete(id);
    },
  };
}

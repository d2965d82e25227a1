/** How a session's credential gets to its agent, and what it opens: the MCP endpoint and nothing else. */
import { join } from "node:path";
import { packageFolder } from "../../runtime/package-folder.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import type { ServeDelegate } from "../../runtime/session/delegate-keys.ts";
import type { Logins } from "../http/logins.ts";
import type { Door } from "../http/server.ts";
import type { Address } from "../session-plugins.ts";

/** The MCP server that a session's agent starts: this program, with what leads it back here. */
export function serveDelegate(address: Address): ServeDelegate {
  return ({ credential }) => ({
    command: process.execPath,
    args: [join(packageFolder(), "bin", "franca.js"), "mcp"],
    env: {
      FRANCA_SESSION_CREDENTIAL: credential,
      FRANCA_SESSION_ENDPOINT: `${address.url ?? ""}/v1/mcp`,
    },
  });
}

interface DoorOptions {
  readonly host: string;
  readonly token: string | null;
  readonly corsAllowOrigin: readonly string[];
}

export const doorOf = (
  { host, token, corsAllowOrigin }: DoorOptions,
  { logins, sessions }: { readonly logins: Logins; readonly sessions: Sessions },
): Door => ({
  host,
  token,
  accepts: logins.accepts,
  acceptsAt: (credential, { path }) => path === "/v1/mcp" && sessions.delegates.holderOf(credential) !== null,
  corsOrigins: corsAllowOrigin,
});

/** The MCP server that a session's agent starts to delegate work: this program, with a credential of its session. */
import { join } from "node:path";
import { packageFolder } from "../../runtime/package-folder.ts";
import type { ServeDelegate } from "../../runtime/session/delegate-servers.ts";
import type { Credentials } from "../credentials/store.ts";
import type { Address } from "../session-plugins.ts";

/** The credential is for the MCP endpoint and for sessions that this one has started. */
export function serveDelegate(address: Address, credentials: Credentials): ServeDelegate {
  return (session) => {
    const { credential, secret } = credentials.issue({
      kind: "delegation",
      surface: "mcp",
      folders: [],
      sessions: [session],
      actions: ["read", "create", "prompt", "abort"],
      expiresAt: null,
      process: null,
    });
    return {
      server: {
        command: process.execPath,
        args: [join(packageFolder(), "bin", "franca.js"), "mcp"],
        env: {
          FRANCA_SESSION_CREDENTIAL: secret,
          FRANCA_SESSION_ENDPOINT: `${address.url ?? ""}/v1/mcp`,
        },
      },
      end: () => void credentials.revoke(credential.id),
    };
  };
}

/**
 * A daemon that was started without the keys of this shell gets them for one session: only the keys that its agent
 * takes, and only when the daemon is proven to be this user's own, on this machine.
 */
import type { MissingKeys } from "../protocol/resources.ts";
import { daemonOf } from "../runtime/daemon/lock.ts";
import { readToken } from "../runtime/data-folder.ts";
import { check } from "../sdk/credential.ts";
import type { Http } from "../sdk/http.ts";
import { nodeFetch } from "./node-fetch.ts";
import { CommandError } from "./usage.ts";

export interface KeyRequest {
  readonly http: Http;
  readonly url: string;
  readonly token?: string | false | undefined;
  readonly data: string;
  readonly id: string;
  readonly agent: string;
  readonly env: NodeJS.ProcessEnv;
}

export async function sendKeys({ http, url, token, data, id, agent, env }: KeyRequest): Promise<void> {
  const path = `/v1/sessions/${encodeURIComponent(id)}/keys`;
  const { missing, credentialsAvailable } = await http.json<MissingKeys>(path);
  const here = missing.filter((name) => (env[name] ?? "") !== "");
  if (here.length === 0) return;
  // Only what we know to be a key of this agent: a daemon may not ask for any variable it likes.
  const { adapterFor } = await import("../adapters/index.ts");
  const known = adapterFor(agent)?.credentials?.variables ?? [];
  const wanted = here.filter((name) => known.includes(name));
  if (wanted.length === 0) return;
  if (await isOwnDaemon({ url, token, data })) {
    const keys = Object.fromEntries(wanted.map((name) => [name, env[name]]));
    await http.request(path, { method: "POST", body: { keys } });
  } else if (!credentialsAvailable) {
    throw new CommandError(
      `the daemon was started without ${wanted.join(", ")}: restart it, or stop it (franca daemon stop) and run without it.`,
    );
  }
}

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && (/^127\.\d+\.\d+\.\d+$/.test(hostname) || hostname === "[::1]" || hostname === "localhost");

/** The daemon of this data folder, which proved at this very port that it knows the token. */
async function isOwnDaemon({ url, token, data }: Pick<KeyRequest, "url" | "token" | "data">): Promise<boolean> {
  const address = new URL(url);
  const base = url.replace(/\/+$/, "");
  if (!isLoopback(address) || (await daemonOf(data))?.url !== base) return false;
  const secret = typeof token === "string" ? token : token === false ? null : readToken(data);
  if (secret === null) return false;
  try {
    return await check(nodeFetch, { url: address, base, token: secret, anyPort: false });
  } catch {
    return false;
  }
}

/** Where the daemon is: as named, in the environment, as the data folder says, or where a page comes from. */
import { daemonIn, defaultFolder, enclosingSession, isNode } from "./data-folder.ts";
import { startDaemon } from "./start.ts";
import { checkUrl, UsageError } from "./usage.ts";

export interface AddressOptions {
  readonly url?: string | undefined;
  readonly data?: string | undefined;
  readonly start?: boolean | string | undefined;
}

export interface Address {
  /** Without a trailing slash. */
  readonly url: string;
  /** FRANCA_TOKEN, where it may be used for this address. */
  readonly token?: string;
}

export async function locate({ url, data, start = false }: AddressOptions): Promise<Address> {
  if (!isNode()) return { url: url === undefined ? pageOrigin() : checkUrl(url) };
  const { FRANCA_URL = "" } = process.env;
  // A host that only the program names does not get the environment's token, unless it proves that it knows it.
  if (url !== undefined) return { url: checkUrl(url), ...(isPlain(url) ? environmentToken() : {}) };
  if (FRANCA_URL !== "") return { url: checkUrl(FRANCA_URL), ...environmentToken() };
  const folder = data ?? defaultFolder();
  const daemon = daemonIn(folder);
  if (daemon !== null) return { url: daemon.url, ...environmentToken() };
  if (start === false) {
    throw new UsageError(
      `No Franca daemon runs on ${folder}. Start one with \`franca daemon start\`, or pass { start: true }; ` +
        "for a daemon elsewhere, set FRANCA_URL or pass { url }.",
    );
  }
  return { url: await startDaemon({ data: folder, program: start }) };
}

const isPlain = (url: string): boolean => new URL(url).protocol === "http:";

/** An agent's program does not get its user's token by itself, wherever that stands. */
function environmentToken(): { token?: string } {
  const token = process.env.FRANCA_TOKEN?.trim() ?? "";
  return token === "" || enclosingSession() !== null ? {} : { token };
}

function pageOrigin(): string {
  const page: unknown = Reflect.get(globalThis, "location");
  const origin = typeof page === "object" && page !== null && "origin" in page ? page.origin : null;
  if (typeof origin === "string" && origin.startsWith("http")) return origin;
  throw new UsageError("There is no address to connect to: pass { url } with where the daemon listens.");
}

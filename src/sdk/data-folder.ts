/** What a client on Node finds in the data folder of its user: the token, and the daemon that runs on the folder. */

export const isNode = (): boolean => typeof process === "object" && typeof process.getBuiltinModule === "function";

/** The same rule as the daemon's own default. */
export function defaultFolder(): string {
  const { FRANCA_DATA, XDG_DATA_HOME, HOME = "" } = process.env;
  if (FRANCA_DATA !== undefined && FRANCA_DATA !== "") return FRANCA_DATA;
  return XDG_DATA_HOME?.startsWith("/") === true ? `${XDG_DATA_HOME}/franca` : `${HOME}/.local/share/franca`;
}

export const tokenIn = (folder: string): string | null => textIn(`${folder}/token`);

export interface RunningDaemon {
  readonly url: string;
  /** Whether clients need its token. */
  readonly token: boolean;
}

/** The daemon that listens for this folder; null when there is none. */
export function daemonIn(folder: string): RunningDaemon | null {
  const lock = lockIn(folder);
  return lock !== null && "pid" in lock && typeof lock.pid === "number" && isAlive(lock.pid) ? listening(lock) : null;
}

/** The daemon that listened for this folder last, which may have died since. */
export function lastDaemonIn(folder: string): RunningDaemon | null {
  const lock = lockIn(folder);
  return lock === null ? null : listening(lock);
}

/** Names the process that listens at this address for the folder; null when none is known to. */
export function processAt(url: string, folder: string): string | null {
  return daemonIn(folder)?.url === url ? JSON.stringify(lockIn(folder)) : null;
}

function listening(lock: object): RunningDaemon | null {
  if (!("url" in lock) || typeof lock.url !== "string" || lock.url === "") return null;
  return { url: lock.url, token: !("token" in lock) || lock.token !== false };
}

function lockIn(folder: string): object | null {
  const text = textIn(`${folder}/daemon.lock`);
  if (text === null) return null;
  try {
    const lock: unknown = JSON.parse(text);
    return typeof lock === "object" ? lock : null;
  } catch {
    return null;
  }
}

function textIn(file: string): string | null {
  try {
    const text = process.getBuiltinModule("node:fs").readFileSync(file, "utf8").trim();
    return text === "" ? null : text;
  } catch {
    return null;
  }
}

/** A process of another user may not be signalled, but it is there. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The agent session this program was started in; null when a person started it. */
export function enclosingSession(): string | null {
  const session = process.env.FRANCA_SESSION_ID;
  return session === undefined || session === "" ? null : session;
}

/**
 * The builtin agent as the runtime meets it: hears lines, runs one turn at a time, says what happens, and forgets
 * nothing.
 */
import type { InProcessAgent, InProcessHost, InProcessPeer } from "../core/in-process.ts";
import { type BuiltinHears, type BuiltinSays, isBuiltinHeard, isBuiltinLine } from "../dialects/builtin.ts";
import type { BuiltinSettings } from "./config.ts";
import type { LoadHistory } from "./load.ts";
import { type Environment, hasCredentials, listModels } from "./providers.ts";
import type { Session } from "./session.ts";
import type { Hooks, World } from "./session-context.ts";

export interface BuiltinOptions {
  readonly settings: BuiltinSettings;
  readonly version: string;
  /** The log of a session, oldest first: the conversation is rebuilt from it. */
  readonly loadHistory: LoadHistory;
  /** What we run in: keys and URLs of providers are looked up here, after the session's own. */
  readonly environment: Environment;
  /** Names of it that commands get besides the usual ones. */
  readonly passEnv?: readonly string[];
  /** Where outputs too long for the model are kept; a temporary folder when absent. */
  readonly outputs?: string;
  /** Franca's data folder: reading it is always asked for. */
  readonly dataFolder?: string;
  /** Private addresses that MCP servers may have (`runtime/outbound/address.ts`). */
  readonly outboundAllow?: readonly string[];
  readonly hooks?: Hooks;
  readonly world?: Partial<World>;
}

export function createBuiltinAgent(options: BuiltinOptions): InProcessAgent {
  const { settings, environment } = options;
  return {
    open: (host) => openPeer(options, host),
    hasCredentials: () => hasCredentials({ settings, environment }),
    models: () => listModels({ settings, environment }),
  };
}

function openPeer(options: BuiltinOptions, host: InProcessHost): InProcessPeer {
  let session: Promise<Session> | null = null;
  const opened = (): Promise<Session> => {
    // Loaded with the first session: a daemon that never uses this agent does not pay for it.
    session ??= import("./open.ts").then(({ openSession }) => openSession(options, host));
    return session;
  };
  // In order, whatever opening takes; a line that cannot be handled is said to be so.
  let last: Promise<void> = opened().then(() => undefined);
  const deliver = (line: BuiltinHears): void => {
    last = last.then(async () => (await opened()).hear(line)).catch((error: unknown) => fail(host, error));
  };
  last = last.catch((error: unknown) => fail(host, error));
  return {
    receive(line) {
      if (isBuiltinLine(line) && isBuiltinHeard(line)) deliver(line);
    },
  };
}

function fail(host: InProcessHost, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const line: BuiltinSays = { type: "end", reason: "error", error: { message, code: "internal", details: null } };
  host.emit(line);
}

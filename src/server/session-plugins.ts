/** Sessions with plugins: loaded once, asked when a turn settles, sent all events, and reported where they fail. */
import type { Proposal } from "../core/input.ts";
import type { OpenCodeOptions } from "../projections/opencode/index.ts";
import { Action } from "../protocol/tokens.ts";
import type { Background } from "../runtime/background.ts";
import type { Logger } from "../runtime/logger.ts";
import type { PluginRequest, Settlement } from "../runtime/options.ts";
import type { PluginEntry, PluginFailure, Plugins } from "../runtime/plugins/plugins.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import type { Grant } from "./credentials/credential.ts";
import type { Credentials } from "./credentials/store.ts";
import { askAboutPermission, askToSettle, sendToPlugins } from "./plugin-events.ts";
import { hooksOfSurface, needsPlaces } from "./plugin-hooks.ts";
import { openPlaces, type Places } from "./plugin-places.ts";

export interface Plugged {
  /** The hooks that the builtin agent runs. */
  readonly hooks: Pick<Plugins, "has" | "trigger">;
  readonly settle: (settlement: Settlement) => Promise<readonly Proposal[]>;
  readonly askPlugins: (request: PluginRequest) => Promise<"allow" | "deny" | undefined>;
  /** The same sessions, with plugins following them until they are closed. */
  readonly follow: (sessions: Sessions) => Sessions;
}

/** Where the daemon listens, once it does. */
export interface Address {
  url: string | null;
}

interface OpenPlugged {
  readonly address: Address;
  /** Of the daemon; null where there is none. */
  readonly credentials: Credentials | null;
  readonly entries: readonly PluginEntry[];
  readonly base: string;
  readonly logger: Logger;
  readonly background: Background;
  /** How the OpenCode surface renders. */
  readonly rendering: OpenCodeOptions;
}

export async function openPlugged(options: OpenPlugged): Promise<Plugged> {
  const { entries, base, logger, background, address, credentials, rendering } = options;
  // Loaded only where a plugin is named: a daemon without any does not pay for the loader.
  const { loadPlugins, noShell } = await import("../runtime/plugins/plugins.ts");
  const reporting: { sessions: Sessions | null } = { sessions: null };
  const places = openPlaces(rendering);
  const plugins = await loadPlugins({
    entries,
    base,
    context: {
      directory: base,
      worktree: base,
      project: { id: "franca", worktree: base },
      client: await openClient(address, credentials),
      $: noShell,
    },
    report: (failure) => reportFailure({ failure, logger, places, sessions: reporting.sessions }),
    onUnknownHooks: (unknown) => logger.warn("plugin.hooks_unknown", unknown),
  });
  return {
    hooks: hooksOfSurface(plugins, places),
    settle: (settlement) => askToSettle({ plugins, places }, settlement),
    askPlugins: (request) => askAboutPermission({ plugins, places }, request),
    follow(sessions) {
      reporting.sessions = sessions;
      const stopped = new AbortController();
      const { signal } = stopped;
      const events = sendToPlugins({ plugins, places, rendering, sessions, logger, signal });
      const following = [background.start("plugins", events, signal)];
      if (needsPlaces(plugins)) {
        following.push(background.start("places", places.follow({ sessions, logger, signal }), signal));
      }
      return {
        ...sessions,
        async close() {
          stopped.abort();
          await Promise.all(following.map(({ ended }) => ended()));
          await sessions.close();
        },
      };
    },
  };
}

/** An OpenCode client of our own surface, with a credential of its own. Using it throws where no daemon runs. */
async function openClient(address: Address, credentials: Credentials | null): Promise<unknown> {
  const { createOpencodeClient } = await import("@opencode-ai/sdk/client");
  let client: ReturnType<typeof createOpencodeClient> | null = null;
  return new Proxy(
    {},
    {
      get(_target, name) {
        // `await` asks whether it is a promise.
        if (name === "then") return undefined;
        if (address.url === null || credentials === null) {
          throw new Error("`client` needs the daemon: start it with `franca serve`.");
        }
        client ??= createOpencodeClient({
          baseUrl: `${address.url}/opencode`,
          headers: { authorization: `Bearer ${credentials.issue(pluginGrant).secret}` },
        });
        return Reflect.get(client, name);
      },
    },
  );
}

/** What OpenCode's API offers in all folders, except configuration and what else needs the owner. */
const pluginGrant: Grant = {
  kind: "plugin",
  surface: "opencode",
  folders: null,
  sessions: [],
  actions: Action.options,
  expiresAt: null,
  process: null,
};

interface Failing {
  readonly failure: PluginFailure;
  readonly logger: Logger;
  readonly places: Places;
  readonly sessions: Sessions | null;
}

/** In the log of the session it was about, and in ours. */
function reportFailure({ failure, logger, places, sessions }: Failing): void {
  const { plugin, hook, message, sessionID } = failure;
  logger.warn("plugin.failed", { plugin, hook, message });
  const session = sessionID === null ? null : places.owner(sessionID);
  if (sessions === null || session === null) return;
  const notice = { message: `The plugin ${plugin} failed in ${hook}: ${message}`, code: "plugin_failed" };
  sessions.notice(session, notice).catch((error: unknown) => {
    logger.warn("plugin.report_failed", { plugin, error: String(error) });
  });
}

/** What plugins receive: events in OpenCode's dialect, permissions they may answer, turns they may continue. */
import type { Proposal } from "../core/input.ts";
import { patternsOf } from "../core/permission-decision.ts";
import type { OpenCodeEvent } from "../dialects/opencode.ts";
import type { OpenCodeOptions } from "../projections/opencode/index.ts";
import type { SessionId } from "../protocol/ids.ts";
import { followGroups, type TaskWork } from "../runtime/background.ts";
import type { Logger } from "../runtime/logger.ts";
import type { PluginRequest, Settlement } from "../runtime/options.ts";
import type { Plugins } from "../runtime/plugins/plugins.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import type { Places } from "./plugin-places.ts";
import { openCodeDialect } from "./rendering/dialects.ts";
import type { Rendered } from "./rendering/rendering.ts";
import { openRenderings } from "./rendering/renderings.ts";

/** Asks every plugin whether a turn should continue. */
export async function askToSettle(
  { plugins, places }: Pick<PluginFeed, "plugins" | "places">,
  { session, turn_id, snapshot }: Settlement,
): Promise<Proposal[]> {
  const input = { sessionID: places.session(session), turnID: turn_id, todos: snapshot.todos };
  const answers = await plugins.each("turn.settle", input, () => ({ continue: null }));
  return answers.flatMap(({ plugin, output }) => (output.continue === null ? [] : [{ plugin, ...output.continue }]));
}

/** Calls every plugin for a permission request, before clients see it. One deny wins over every allow. */
export async function askAboutPermission(
  { plugins, places }: Pick<PluginFeed, "plugins" | "places">,
  { session, report }: PluginRequest,
): Promise<"allow" | "deny" | undefined> {
  if (!plugins.has("permission.ask")) return undefined;
  const { key, action, tool, call_id, input, metadata } = report;
  const pattern = patternsOf({ report, inspection: null });
  const asked = {
    id: key,
    type: action,
    sessionID: places.session(session),
    title: tool ?? action,
    pattern,
    metadata: { ...metadata, tool, call_id, input, patterns: pattern },
  };
  const answers = await plugins.each("permission.ask", asked, () => ({ status: "ask" }));
  const isAnswered = (status: "allow" | "deny"): boolean => answers.some(({ output }) => output.status === status);
  return isAnswered("deny") ? "deny" : isAnswered("allow") ? "allow" : undefined;
}

export interface PluginFeed {
  readonly plugins: Plugins;
  readonly places: Places;
  /** How the surface renders, so that plugins see its ids. */
  readonly rendering: OpenCodeOptions;
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Follows all sessions from now on and sends plugins what happens, in OpenCode's dialect. Ends with the signal. */
export function sendToPlugins({ plugins, places, rendering, sessions, logger, signal }: PluginFeed): TaskWork {
  const renderings = openRenderings({ sessions, dialect: openCodeDialect(sessions.projections, rendering) });
  const renders = plugins.has("event");
  const failed = (error: unknown, session: SessionId): void =>
    logger.warn("plugin.event_failed", { session, error: String(error) });
  return followGroups(sessions, { after: sessions.position(), signal }, async (group) => {
    try {
      const rendered = renders ? await renderings.render(group) : group.events().map((event) => ({ event, out: [] }));
      for (const one of rendered) {
        await sendOne({ plugins, places }, one).catch((error: unknown) => failed(error, group.session));
      }
    } catch (error) {
      failed(error, group.session);
    }
  });
}

async function sendOne(
  { plugins, places }: Pick<PluginFeed, "plugins" | "places">,
  { event, out }: Rendered<OpenCodeEvent>,
): Promise<void> {
  for (const one of out) await plugins.trigger("event", { event: one }, undefined);
  if (event.type !== "turn.ended") return;
  const { turn_id, reason, evidence, error } = event.data;
  const input = {
    sessionID: places.session(event.session_id),
    turnID: turn_id,
    reason,
    evidence,
    error: error?.message ?? null,
  };
  await plugins.trigger("turn.ended", input, undefined);
}

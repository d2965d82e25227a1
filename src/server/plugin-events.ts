/** What plugins receive: events in OpenCode's dialect, permissions they may answer, turns they may continue. */
import type { Proposal } from "../core/input.ts";
import type { OpenCodeEvent } from "../dialects/opencode.ts";
import type { OpenCodeOptions } from "../projections/opencode/index.ts";
import type { EventOf } from "../protocol/events.ts";
import type { SessionId } from "../protocol/ids.ts";
import { followGroups, type TaskWork } from "../runtime/background.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Settlement } from "../runtime/options.ts";
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
  const renders = plugins.has("event") || plugins.has("permission.ask");
  const failed = (error: unknown, session: SessionId): void =>
    logger.warn("plugin.event_failed", { session, error: String(error) });
  return followGroups(sessions, { after: sessions.position(), signal }, async (group) => {
    try {
      const rendered = renders ? await renderings.render(group) : group.events().map((event) => ({ event, out: [] }));
      for (const one of rendered) {
        await sendOne({ plugins, places, sessions }, one).catch((error: unknown) => failed(error, group.session));
      }
    } catch (error) {
      failed(error, group.session);
    }
  });
}

async function sendOne(
  { plugins, places, sessions }: Pick<PluginFeed, "plugins" | "places" | "sessions">,
  { event, out }: Rendered<OpenCodeEvent>,
): Promise<void> {
  for (const one of out) await plugins.trigger("event", { event: one }, undefined);
  if (event.type === "permission.requested" && plugins.has("permission.ask")) {
    const asked = out.find((one) => one.type === "permission.asked");
    if (asked !== undefined) await askAbout({ plugins, sessions, event, asked });
  }
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

async function askAbout({
  plugins,
  sessions,
  event,
  asked,
}: {
  plugins: Plugins;
  sessions: Sessions;
  event: EventOf<"permission.requested">;
  /** The same request as OpenCode's clients see it. */
  asked: Extract<OpenCodeEvent, { type: "permission.asked" }>;
}): Promise<void> {
  const { permission_id, action, metadata } = event.data;
  const session: SessionId = event.session_id;
  const input = {
    id: asked.properties.id,
    type: action,
    sessionID: asked.properties.sessionID,
    title: metadata.tool ?? action,
    pattern: metadata.patterns,
    metadata,
  };
  const { status } = await plugins.trigger("permission.ask", input, { status: "ask" });
  if (status === "ask") return;
  const reply = status === "allow" ? "once" : "reject";
  // A person may have been faster; then there is nothing left to say.
  await sessions.replyPermission(session, permission_id, { reply }).catch(ignoreAnswered);
}

function ignoreAnswered(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "already_answered")) throw error;
}

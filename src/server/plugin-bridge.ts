/** Between plugins and sessions: events told in OpenCode's words, permissions they may answer, and settlements. */

import { type Running, run } from "../core/fold.ts";
import type { Proposal } from "../core/input.ts";
import { openCodeFold } from "../projections/opencode/index.ts";
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { SessionId } from "../protocol/ids.ts";
import { eventsOf } from "../runtime/log/codec/group.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Settlement } from "../runtime/options.ts";
import type { Plugins } from "../runtime/plugins/plugins.ts";
import type { Sessions } from "../runtime/session/contract.ts";

/** Asks every plugin whether a turn should go on. */
export async function askToSettle(plugins: Plugins, { session, turn_id, snapshot }: Settlement): Promise<Proposal[]> {
  const input = { sessionID: session, turnID: turn_id, todos: snapshot.todos };
  const answers = await plugins.each("turn.settle", input, () => ({ continue: null }));
  return answers.flatMap(({ plugin, output }) => (output.continue === null ? [] : [{ plugin, ...output.continue }]));
}

export interface Bridge {
  readonly plugins: Plugins;
  readonly sessions: Sessions;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Follows all sessions from now on and tells plugins what happens. Ends with the signal. */
export async function tellPlugins({ plugins, sessions, logger, signal }: Bridge): Promise<void> {
  const retelling = new Map<string, Running<UniversalEvent, unknown>>();
  for await (const group of sessions.followAll({ after: sessions.position(), signal })) {
    for (const event of eventsOf(group)) {
      try {
        await tellOne({ plugins, sessions, retelling, event });
      } catch (error) {
        logger.warn("plugin.telling_failed", { event: event.event_id, error: String(error) });
      }
    }
  }
}

interface Telling {
  readonly plugins: Plugins;
  readonly sessions: Sessions;
  readonly retelling: Map<string, Running<UniversalEvent, unknown>>;
  readonly event: UniversalEvent;
}

async function tellOne({ plugins, sessions, retelling, event }: Telling): Promise<void> {
  if (plugins.has("event")) {
    const fold = retelling.get(event.session_id) ?? run(openCodeFold());
    retelling.set(event.session_id, fold);
    for (const one of fold.step(event)) await plugins.trigger("event", { event: one }, undefined);
    if (event.type === "session.ended") retelling.delete(event.session_id);
  }
  if (event.type === "permission.requested" && plugins.has("permission.ask")) {
    await askAbout({ plugins, sessions, event });
  }
  if (event.type !== "turn.ended") return;
  const { turn_id, reason, evidence, error } = event.data;
  const input = { sessionID: event.session_id, turnID: turn_id, reason, evidence, error: error?.message ?? null };
  await plugins.trigger("turn.ended", input, undefined);
}

async function askAbout({
  plugins,
  sessions,
  event,
}: {
  plugins: Plugins;
  sessions: Sessions;
  event: EventOf<"permission.requested">;
}): Promise<void> {
  const { permission_id, action, metadata } = event.data;
  const session: SessionId = event.session_id;
  const input = {
    id: permission_id,
    type: action,
    sessionID: session,
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

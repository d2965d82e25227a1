/** Performs the effects of a session's fold once their events are stored: sends, starts and stops, answers, plugins. */
import { unreachable } from "../../core/fold.ts";
import { type Effect, SETTLE_MS } from "../../core/input.ts";
import type { PermissionReport } from "../../core/report.ts";
import type { TurnId } from "../../protocol/ids.ts";
import { inspectAction } from "../inspect-action.ts";
import { timeoutSignal } from "../timeout-signal.ts";
import { launchOptions } from "./launch-options.ts";
import type { OpenSession } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";
import { startShell } from "./shell.ts";

export function perform(runtime: Runtime, open: OpenSession, effect: Effect): void {
  switch (effect.type) {
    case "send.line":
    case "send.request":
    case "send.host":
    case "send.signal":
    case "send.close":
      return open.link.perform(effect);
    case "connect":
      // No agent is started during shutdown; the prompt stays stored and runs after the next start.
      if (runtime.closed) return;
      return open.link.connect(launchOptions(runtime, open, effect.prompt));
    case "stop":
      return open.link.stop({ turnOver: open.session.snapshot().turn === null });
    case "prompt.started":
    case "prompt.dropped":
      // Stored together with its events (record.ts).
      return;
    case "answered":
      return open.sideRequests.get(effect.ask_id)?.({ status: effect.status, body: effect.body });
    case "shell":
      return startShell(runtime, open, effect);
    case "shell.stop":
      if (open.shell !== null) runtime.background.run("agents", () => stopShell(open));
      return;
    case "relay.answer":
      return runtime.answerRelay(effect);
    case "inspect":
      return runtime.background.run("sessions", () => inspect(runtime, open, effect.report));
    case "settle":
      return runtime.background.run("plugins", () => settle(runtime, open, effect.turn_id));
    default:
      return unreachable(effect);
  }
}

const stopShell = async ({ shell }: OpenSession): Promise<void> => shell?.stop({ silently: false });

/** Feeds the inspection of a permission request back into the session. If it fails, users are asked. */
async function inspect({ options, logger }: Runtime, open: OpenSession, report: PermissionReport): Promise<void> {
  const { key, requested } = report;
  const directory = open.settings.create.directory ?? process.cwd();
  try {
    const [inspection, plugin] = await Promise.all([
      inspectAction(requested, directory),
      options.askPlugins?.({ session: open.id, report }),
    ]);
    open.writer.feed({ type: "inspected", key, inspection, plugin });
  } catch (error) {
    logger.warn("permission.inspection_failed", { session: open.id, error });
    open.writer.feed({ type: "inspected", key, inspection: null });
  }
}

/** Plugins may propose how the turn continues. One that fails is reported and never ends the turn. */
async function settle({ options, logger }: Runtime, open: OpenSession, turn_id: TurnId): Promise<void> {
  const signal = timeoutSignal({ ms: SETTLE_MS });
  const snapshot = open.session.snapshot();
  try {
    const proposals = (await options.settle?.({ session: open.id, turn_id, snapshot, signal })) ?? [];
    open.writer.feed({ type: "proposals", turn_id, proposals });
  } catch (error) {
    const message = `A plugin failed while the turn was settling: ${error instanceof Error ? error.message : error}`;
    logger.warn("plugin.failed", { session: open.id, error });
    open.writer.feed({ type: "notice", message, code: "plugin_failed" });
    open.writer.feed({ type: "proposals", turn_id, proposals: [] });
  }
}

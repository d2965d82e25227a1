/** The update command: title, model, variant, mode and permission mode of an open session. */
import { sessionLimits } from "../../core/budget.ts";
import { defined } from "../../core/defined.ts";
import type { SessionChange } from "../../protocol/commands.ts";
import type { UpdateSession } from "../../protocol/resources.ts";
import type { OpenSession } from "./open-session.ts";
import { cannot, checkMode, checkPermissionMode, checkRules, refuseEnded } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";

export interface Updating {
  readonly asked: UpdateSession;
  readonly standIn: boolean;
}

export async function update(runtime: Runtime, open: OpenSession, { asked, standIn }: Updating): Promise<void> {
  refuseEnded(open);
  const { title, model, variant, agentMode, permissionMode, permissionRules, budget } = asked;
  const { create } = open.settings;
  const budgets = budget === undefined ? undefined : { ...create.budget, ...budget };
  const change: SessionChange = defined({
    title,
    model,
    variant,
    mode: agentMode,
    permission_mode: permissionMode,
    permission_rules: permissionRules,
    budget: budgets === undefined ? undefined : sessionLimits(runtime.options.budgets ?? {}, budgets),
  });
  checkChange(open, change);
  checkRules(open.adapter, { ...open.settings.create, ...asked });
  // The next start of the agent uses the same settings.
  const settings = {
    ...open.settings,
    create: { ...create, ...asked, ...defined({ budget: budgets }) },
  };
  await runtime.log.changeSettings(open.id, settings);
  open.settings = settings;
  await open.writer.command(defined({ type: "set", change, standIn: standIn || undefined }), () => refuseEnded(open));
}

function checkChange({ adapter, session, link }: OpenSession, change: SessionChange): void {
  if (change.mode !== undefined) checkMode(adapter, change.mode);
  if (change.permission_mode !== undefined) checkPermissionMode(adapter, change.permission_mode);
  // Before the agent has started everything may still be chosen.
  const begun = link.isOpen() || session.snapshot().native_session_id !== null;
  for (const name of ["model", "variant", "mode", "permission_mode"] as const) {
    if (change[name] === undefined || !begun || adapter.capabilities.set.includes(name)) continue;
    throw cannot(adapter, `change its ${name.replace("_", " ")} in mid-session`);
  }
}

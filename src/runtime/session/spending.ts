/**
 * Budgets of the day and of an agent hold over all sessions, and those of a session over its family too, so each
 * session's machine must know what the others have used. Only where there are such: then it is said before a prompt
 * runs, and again while turns run.
 */
import { nothingSpent } from "../../core/spent.ts";
import type { BudgetConfig } from "../../protocol/budget.ts";
import type { Logger } from "../logger.ts";
import type { System, Timer } from "../system.ts";
import type { UsageReader } from "../usage.ts";
import type { Families } from "./families.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";

/** How often running turns hear what others have used. */
const AGAIN_MS = 1_000;

export interface Spending {
  /** Feeds a session what the others have used today. */
  readonly inform: (open: OpenSession) => Promise<void>;
  /** Something was stored: running turns will hear of it. */
  readonly changed: (sessions: OpenSessions["sessions"]) => void;
  readonly close: () => void;
}

export interface SpendingOptions {
  readonly budgets: BudgetConfig;
  readonly usage: UsageReader;
  readonly families: Families;
  readonly logger: Logger;
  readonly system: System;
}

export function openSpending({ budgets, usage, families, logger, system }: SpendingOptions): Spending {
  const isShared = budgets.day !== undefined || Object.keys(budgets.agents ?? {}).length > 0;
  let timer: Timer | null = null;
  const inform = async (open: OpenSession): Promise<void> => {
    const others = await families.othersOf(open);
    if (!isShared && others === null) return;
    const midnight = startOfDay(new Date(system.wall()));
    const spent = await usage.since(midnight.getTime(), { session: open.id, agent: open.adapter.agent });
    // While one waits for another the clock runs for both: a family's time is that of its turns, not their sum.
    const family = others === null ? nothingSpent : { ...(await usage.of(others)), timeMs: 0 };
    if (!open.closed) open.writer.feed({ type: "spent", day: midnight.toISOString(), ...spent, family });
  };
  const informAll = async (sessions: OpenSessions["sessions"]): Promise<void> => {
    for (const opening of [...sessions.values()]) {
      const open = await opening.catch(() => null);
      if (open !== null && !open.closed && open.session.snapshot().turn !== null) await inform(open);
    }
  };
  return {
    inform,
    changed(sessions) {
      if (timer !== null || !(isShared || families.any())) return;
      const again = (): void => {
        timer = null;
        informAll(sessions).catch((error: unknown) => logger.warn("spending.unknown", { error }));
      };
      timer = system.after(AGAIN_MS, again, { background: true });
    },
    close() {
      timer?.cancel();
    },
  };
}

/** Of the daemon's own clock. Hours are what usage is counted in, so a zone of half hours begins half an hour late. */
function startOfDay(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

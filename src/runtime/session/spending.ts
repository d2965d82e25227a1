/**
 * Budgets of the day and of an agent hold over all sessions, so each session's machine must know what the others have
 * used. Only where such a budget is set: then it is said before a prompt runs, and again while turns run.
 */
import type { BudgetConfig } from "../../protocol/budget.ts";
import type { Logger } from "../logger.ts";
import type { System, Timer } from "../system.ts";
import type { UsageReader } from "../usage.ts";
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

const nobody: Spending = { inform: async () => {}, changed: () => {}, close: () => {} };

export interface SpendingOptions {
  readonly budgets: BudgetConfig;
  readonly usage: UsageReader;
  readonly logger: Logger;
  readonly system: System;
}

export function openSpending({ budgets, usage, logger, system }: SpendingOptions): Spending {
  if (budgets.day === undefined && Object.keys(budgets.agents ?? {}).length === 0) return nobody;
  let timer: Timer | null = null;
  const inform = async (open: OpenSession): Promise<void> => {
    const midnight = startOfDay(new Date(system.wall()));
    const spent = await usage.since(midnight.getTime(), { session: open.id, agent: open.adapter.agent });
    if (!open.closed) open.writer.feed({ type: "spent", day: midnight.toISOString(), ...spent });
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
      if (timer !== null) return;
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

/** One session that is open in this process: its fold, the writer that steps it, and the link to its agent. */
import type { Adapter } from "../../core/adapter.ts";
import type { Exit } from "../../core/agent-io.ts";
import type { Session } from "../../core/session.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { SessionSettings } from "../log/contract.ts";
import type { System, Timer } from "../system.ts";
import type { AgentLink } from "./agent-link.ts";
import type { SideAnswer } from "./contract.ts";
import type { Runtime } from "./runtime.ts";
import type { Writer } from "./writer.ts";

export interface OpenSession {
  readonly id: SessionId;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly writer: Writer;
  readonly link: AgentLink;
  settings: SessionSettings;
  /** Calls that are using it now: it is not unloaded meanwhile. */
  users: number;
  /** By the monotonic clock. */
  idleSince: number;
  idleTimer: Timer | null;
  /** Groups stored since it was opened. */
  commits: number;
  /** The agent's own id of the conversation. */
  nativeSession: string | null;
  /** Who waits for the answer to a side request, by the request's id. */
  readonly sideRequests: Map<string, (answer: SideAnswer) => void>;
  /**
   * The person's command that runs now. `stop` resolves when nothing of it is left; `silently`: the session does not
   * hear of its end.
   */
  shell: { readonly stop: (options: { readonly silently: boolean }) => Promise<void> } | null;
  /** Who waits until no turn is open. */
  idleWaiters: (() => void)[];
  /** Its agent is being stopped for good: nothing more is taken. */
  ending: boolean;
  /** Ends the credential that its agent was given. */
  readonly revoke: () => void;
  closed: boolean;
}

/** The sessions that are open in this process, or being opened. */
export interface OpenSessions {
  readonly runtime: Runtime;
  readonly sessions: Map<SessionId, Promise<OpenSession>>;
}

/** The session is disconnected at once; its agent is stopped afterwards and no further input comes from it. */
export function stopAgent(open: OpenSession, exit: Exit): Promise<void> {
  open.writer.feed({ type: "disconnected", exit });
  return open.link.stopSilently();
}

/** Closes the session in this process. */
export function closeSession(open: OpenSession, why?: unknown): void {
  open.closed = true;
  open.revoke();
  open.writer.close(why);
  // Never rejects: a failure is reported as the result of the command.
  open.shell?.stop({ silently: true }).catch(() => {});
  for (const answer of open.sideRequests.values())
    answer({ status: 0, body: { message: "The session was unloaded." } });
  open.idleTimer?.cancel();
}

/** Resolves when no turn is open, and after `ms` at the latest. */
export function untilIdle({ after }: System, open: OpenSession, ms: number): Promise<void> {
  if (open.session.snapshot().turn === null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = after(ms, resolve);
    open.idleWaiters.push(() => {
      timer.cancel();
      resolve();
    });
  });
}

export const isEnded = (open: OpenSession): boolean => open.ending || open.session.snapshot().ended;

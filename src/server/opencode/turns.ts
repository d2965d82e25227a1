/** Waiting for turns: a prompt's answer is its turn's last message, told after all that the turn told. */
import type { UniversalEvent } from "../../protocol/events.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import type { Live } from "./live.ts";
import type { Retelling } from "./retelling.ts";

export interface TurnsOptions {
  readonly retelling: Retelling;
  readonly sessions: Sessions;
  readonly logger: Logger;
}

export type Outcome = "ended" | "dropped" | "gone";

export interface Turns {
  /** Resolves when the prompt's turn has ended, or it is certain that it never will run. */
  readonly ended: (live: Live, prompt: string, signal: AbortSignal) => Promise<Outcome>;
  /** Resolves when everything up to `after` was told and the session is idle. */
  readonly idle: (live: Live, options: { readonly after: number; readonly signal: AbortSignal }) => Promise<void>;
  /** Resolves when everything up to `after` was told; false when the signal was first. */
  readonly told: (live: Live, options: { readonly after: number; readonly signal: AbortSignal }) => Promise<boolean>;
  /** Questions of this session have nobody to answer them: they are rejected as they come. */
  readonly refuseQuestions: (session: SessionId) => void;
}

export function openTurns({ retelling, sessions, logger }: TurnsOptions): Turns {
  const silent = new Set<SessionId>();
  retelling.onEvent((live, event) => {
    if (event.type !== "question.requested" || !silent.has(live.id)) return;
    sessions
      .rejectQuestion(live.id, event.data.question_id, { message: "Nobody is there to answer questions." })
      .catch((error: unknown) => logger.warn("opencode.question_not_rejected", { error }));
  });
  return {
    refuseQuestions: (session) => void silent.add(session),
    ended: (live, prompt, signal) => until(retelling, { live, signal, check: (now) => outcome(now, prompt) }),
    told: async (live, { after, signal }) => {
      const check = ({ sequence }: Live): Outcome | null => (sequence >= after ? "ended" : null);
      return (await until(retelling, { live, signal, check })) === "ended";
    },
    idle: async (live, { after, signal }) => {
      const check = (now: Live): Outcome | null => (now.sequence >= after && isIdle(now) ? "ended" : null);
      await until(retelling, { live, signal, check });
    },
  };
}

function outcome(live: Live, prompt: string): Outcome | null {
  if (live.ended.has(prompt)) return "ended";
  // It left the queue and the session rests: somebody has cleared the queue.
  return live.left.has(prompt) && isIdle(live) ? "dropped" : null;
}

const isIdle = (live: Live): boolean =>
  live.store.sessions.get(live.openCodeId)?.status.type !== "busy" && !isRetrying(live);
const isRetrying = (live: Live): boolean => live.store.sessions.get(live.openCodeId)?.status.type === "retry";

function until(
  retelling: Retelling,
  { live, signal, check }: { live: Live; signal: AbortSignal; check: (now: Live) => Outcome | null },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const finish = (found: Outcome): void => {
      stop();
      signal.removeEventListener("abort", leave);
      resolve(found);
    };
    const leave = (): void => finish("gone");
    const look = (changed: Live, event: UniversalEvent): void => {
      if (changed.id !== live.id) return;
      const found = check(changed);
      if (found !== null) finish(found);
      else if (event.type === "session.ended") finish("gone");
    };
    const stop = retelling.onEvent(look);
    signal.addEventListener("abort", leave);
    const found = check(live);
    if (found !== null) finish(found);
    else if (signal.aborted) finish("gone");
  });
}

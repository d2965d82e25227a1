/**
 * What is seen of a simulated daemon from outside: what it acknowledged, what it showed, what its agents were sent.
 * It knows nothing of what happens inside.
 */
import type { MockHears } from "../../src/dialects/mock.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { SessionDetail } from "../../src/protocol/resources.ts";
import type { PromptReceipt } from "../../src/runtime/session/contract.ts";

/** How a call ended for its caller: `lost` when the daemon died before it answered. */
export type Outcome<Value> =
  | { readonly type: "done"; readonly value: Value }
  | { readonly type: "refused"; readonly code: string }
  | { readonly type: "lost" };

export interface SentPrompt {
  readonly session: SessionId;
  readonly text: string;
  readonly delivery: "queue" | "steer";
  readonly receipts: PromptReceipt[];
  /** The daemon died before it answered: it may have taken the prompt, or not. */
  lost: boolean;
  /** Somebody asked to clear the queue, or to end the session, when it was there. */
  cancelled: boolean;
}

export interface Answered {
  readonly session: SessionId;
  readonly request: string;
  readonly yes: boolean;
}

export interface Looked {
  readonly session: SessionId;
  readonly detail: SessionDetail;
}

export interface Observer {
  readonly prompts: SentPrompt[];
  readonly answered: Answered[];
  readonly titles: { readonly session: SessionId; readonly title: string }[];
  readonly looks: Looked[];
  /** Lines that agents were sent. */
  readonly heard: { readonly session: string; readonly line: MockHears }[];
  /** Agents that the daemon stopped, and for how long they had been silent while the machine was awake. */
  readonly stopped: { readonly session: string; readonly silentMs: number }[];
  /** Calls that were refused for a reason that nobody gave. */
  readonly surprises: string[];
  /** Calls that nobody answered yet. */
  pending: number;
  readonly sent: (prompt: Pick<SentPrompt, "session" | "text" | "delivery">) => SentPrompt;
  /** What is in the queue of a session may be cancelled from now until `done` is called. */
  readonly cancelling: (session: SessionId) => { readonly done: () => void };
}

export function openObserver(): Observer {
  const prompts: SentPrompt[] = [];
  const cancelling = new Map<SessionId, number>();
  const count = (session: SessionId, by: number): void => {
    cancelling.set(session, (cancelling.get(session) ?? 0) + by);
    for (const prompt of prompts) if (prompt.session === session) prompt.cancelled = true;
  };
  return {
    prompts,
    answered: [],
    titles: [],
    looks: [],
    heard: [],
    stopped: [],
    surprises: [],
    pending: 0,
    sent(prompt) {
      const cancelled = (cancelling.get(prompt.session) ?? 0) > 0;
      const sent: SentPrompt = { ...prompt, receipts: [], lost: false, cancelled };
      prompts.push(sent);
      return sent;
    },
    cancelling(session) {
      count(session, 1);
      return { done: () => count(session, -1) };
    },
  };
}

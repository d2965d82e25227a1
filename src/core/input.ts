/**
 * What goes into a session's fold and what comes out of it: the whole interface between the pure middle and the edges.
 */

import type { Inspection } from "../permissions/inspection.ts";
import type { BudgetLimits, BudgetScope, Prices } from "../protocol/budget.ts";
import type { Command, PermissionAnswer, Prompt } from "../protocol/commands.ts";
import type { SessionMetadata, UniversalEvent } from "../protocol/events.ts";
import type { PromptId, TurnId } from "../protocol/ids.ts";
import type { Placement } from "../protocol/placement.ts";
import type { FinishTodos, Unattended } from "../protocol/resources.ts";
import type { AdapterInput, Send } from "./agent-io.ts";
import type { CopiedItem } from "./copied-history.ts";
import { noRules, type RulePolicy } from "./permission-rules.ts";
import type { RelayedEvent } from "./relay.ts";
import type { PermissionReport } from "./report.ts";
import type { ShellReport } from "./shell.ts";
import type { Spent } from "./spent.ts";

/** What a plugin says when a turn is about to settle. */
export interface Proposal {
  readonly plugin: string;
  readonly reason: string;
  readonly prompt: string;
}

/** Result of the inspection of a permission request by the edge. */
export interface InspectedRequest {
  /** The key of the request. */
  readonly key: string;
  /** Null if the action could not be inspected. No rule allows it then. */
  readonly inspection: Inspection | null;
  /** The answer of a plugin; absent if no plugin answered. */
  readonly plugin?: "allow" | "deny" | undefined;
}

/**
 * Every input carries `at`, the fold's only clock: milliseconds in which all waits are counted. They are epoch
 * milliseconds until a `clock` input reports that the wall clock has moved ahead of them.
 */
export type SessionInput =
  /** The session exists: what is known of it before the agent has said anything. Live only, once, first. */
  | { readonly type: "opened"; readonly metadata: SessionMetadata; readonly title?: string; readonly at: number }
  /** What the agent and its connection say. `host` lines occur in recordings only: live, we know what we said. */
  | Exclude<AdapterInput<unknown>, { type: "command" }>
  /** A native line that is no JSON, or is too long to keep. */
  | { readonly type: "unreadable"; readonly text: string; readonly error: string; readonly at: number }
  | { readonly type: "command"; readonly command: Command; readonly at: number }
  /** The daemon died in mid-turn and is back: said once, right after opening a session whose turn was open. */
  | { readonly type: "restarted"; readonly at: number }
  /**
   * The wall clock was set ahead, or the machine has slept: from here on, times that are shown (of events, of
   * deadlines) are `at` plus `aheadMs`. No wait becomes shorter or longer by it.
   */
  | { readonly type: "clock"; readonly aheadMs: number; readonly at: number }
  /** What the command of a `shell` effect printed, and how it ended. */
  | (ShellReport & { readonly at: number })
  /** What a fork takes over from its origin. Right after `opened`, in as many pieces as it takes. */
  | { readonly type: "copied"; readonly items: readonly CopiedItem[]; readonly at: number }
  /** What plugins answered to a `settle` effect. */
  | {
      readonly type: "proposals";
      readonly turn_id: TurnId;
      readonly proposals: readonly Proposal[];
      readonly at: number;
    }
  /** The facts about a permission request, as the result of an `inspect` effect. */
  | (InspectedRequest & { readonly type: "inspected"; readonly at: number })
  /** Something of ours failed beside the turn (a plugin, the disk): an error event that ends nothing. */
  | {
      readonly type: "notice";
      readonly message: string;
      readonly code: string;
      readonly details?: unknown;
      /** A stored prompt that will never run because of it. */
      readonly refused_prompt?: PromptId;
      readonly at: number;
    }
  /** A request of a session that this one's agent has started, or how it was resolved there. */
  | {
      readonly type: "relayed";
      readonly from: { readonly session_id: string; readonly agent: string };
      readonly event: RelayedEvent;
      readonly at: number;
    }
  /** Where it runs, when several hosts share the log. */
  | { readonly type: "placed"; readonly placement: Placement; readonly at: number }
  /** What other sessions have used, where a budget holds over several: of the day, of an agent, of a family. */
  | {
      readonly type: "spent";
      /** Names the day; a budget begins anew with the next one. */
      readonly day: string;
      readonly others: { readonly day: Spent; readonly agent: Spent };
      /** What this session had used before that day. */
      readonly ownBefore: Spent;
      /** What the others of its family have used: those that its agent has started, and the one that started it. */
      readonly family: Spent;
      readonly at: number;
    };

/** What the edge does after it has appended the events, in this order. */
export type Effect =
  | Send
  /** Open the connection; then feed `connected`, or `disconnected` with a message if it cannot be had. */
  | { readonly type: "connect"; readonly prompt: Prompt | null }
  /** End the connection, the whole process tree, by the ladder; then feed `disconnected`. */
  | { readonly type: "stop" }
  /** A stored prompt begins to run, or will never run. */
  | { readonly type: "prompt.started"; readonly prompt_id: PromptId }
  | { readonly type: "prompt.dropped"; readonly prompt_id: PromptId }
  /** What the agent said to an `ask`. Status 0: it could not be asked, `body` has a message. */
  | { readonly type: "answered"; readonly ask_id: string; readonly status: number; readonly body: unknown }
  /** Run a person's command; feed `shell.output` while it prints and `shell.ended` once. */
  | { readonly type: "shell"; readonly turn_id: TurnId; readonly command: string }
  /** Stop that command; `shell.ended` follows. */
  | { readonly type: "shell.stop"; readonly turn_id: TurnId }
  /** A request that was relayed from another session is answered here: the answer is due there. */
  | RelayAnswer
  /** Parse the command, resolve the paths, call the plugins; then feed `inspected` (the machine waits 10 s). */
  | { readonly type: "inspect"; readonly report: PermissionReport }
  /** Ask the plugins whether to go on; feed their answers as `proposals` (in time: the machine waits 2 s). */
  | { readonly type: "settle"; readonly turn_id: TurnId };

export interface RelayAnswer {
  readonly type: "relay.answer";
  readonly session_id: string;
  readonly request_id: string;
  readonly answer:
    | ({ readonly kind: "permission" } & PermissionAnswer)
    /** Null rejects it. */
    | { readonly kind: "question"; readonly answers: readonly (readonly string[])[] | null; readonly message?: string };
}

/** One native line, numbered per session over both directions. */
export interface NativeRecord {
  readonly line: number;
  readonly from: "agent" | "host" | "process";
  readonly native: unknown;
  readonly at: number;
}

export interface SessionOutput {
  readonly events: readonly UniversalEvent[];
  readonly native: readonly NativeRecord[];
  readonly effects: readonly Effect[];
}

/** How a session's turns behave. */
export interface TurnPolicy {
  /** How long a live agent may be silent with nothing open. */
  readonly watchdogMs: number;
  /** How long open tool calls may hold a turn after a natural end signal, counted from the agent's last line. */
  readonly graceMs: number;
  /** How long an agent has to obey an abort before it is stopped. */
  readonly abortMs: number;
  readonly unattended: Unattended;
  /** What is answered before anybody is asked. */
  readonly permissionRules: RulePolicy;
  readonly finishTodos: FinishTodos;
  /** Plugins want to be asked at settlement. */
  readonly askPlugins: boolean;
  readonly budgets: Budgets;
}

/** What may be used, per prompt, by the session, and in a day by all sessions and by those of its agent. */
export interface Budgets extends Readonly<Record<BudgetScope, BudgetLimits>> {
  /** For what the agent gives no price. */
  readonly prices: Prices;
}

export const noBudgets: Budgets = { prompt: {}, session: {}, day: {}, agent: {}, prices: {} };

/** How long a request waits for its answer when the policy names no time. */
export const DEADLINE_MS = 3_600_000;

/** Maximum time that a permission request is held for its inspection before users are asked about it. */
export const INSPECT_MS = 10_000;

/** How long plugins have to say whether a turn should go on. */
export const SETTLE_MS = 2_000;

export const defaultPolicy: TurnPolicy = {
  watchdogMs: 1_800_000,
  graceMs: 10_000,
  abortMs: 2_000,
  unattended: { policy: "park", deadlineMs: DEADLINE_MS },
  permissionRules: noRules,
  finishTodos: false,
  askPlugins: false,
  budgets: noBudgets,
};

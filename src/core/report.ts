/**
 * Reports: what an adapter says it heard. They decide nothing; the turn machine does.
 * Items are named by a `key` of the adapter's choice, unique within the session; the machine gives them their ids.
 */

import type { RequestedAction } from "../permissions/inspection.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type {
  BackgroundWork,
  EndReason,
  ErrorInfo,
  MessagePlace,
  Question,
  Revert,
  SessionMetadata,
  Share,
  SlashCommand,
  Todo,
  Tokens,
} from "../protocol/events.ts";
import type { ContentPart, ItemKind, ItemRole, Subagent } from "../protocol/items.ts";

/** What is known of an item when it begins. */
export interface ItemHead {
  readonly key: string;
  readonly native_item_id: string | null;
  readonly kind: ItemKind;
  readonly role: ItemRole;
  readonly message_id?: string | undefined;
  /** The key of the parent item, usually the latest message item of the same native message. */
  readonly parent?: string | undefined;
  readonly subagent?: Subagent | undefined;
  /** A tool item already carries its part here (name, call_id); a message item its empty text or reasoning part. */
  readonly content: readonly ContentPart[];
}

export type DeltaKind = "text" | "reasoning" | "tool_output";

/** The agent begins an item. A key that is known already is absorbed. */
export interface OpenReport {
  readonly type: "open";
  readonly item: ItemHead;
  /** We made it to fill a gap: the event is marked synthetic, source daemon. */
  readonly synthetic?: boolean | undefined;
}

/** A piece of an item's text or output. Before its item was opened, the machine makes a synthetic start. */
export interface DeltaReport {
  readonly type: "delta";
  readonly key: string;
  readonly part: DeltaKind;
  readonly delta: string;
}

/**
 * The agent is done with an item. `content` replaces what the item had; without it the item keeps what was said.
 * The machine adds the one synthetic delta where the agent gave none, and the missing rest of tool output.
 * `item` lets a close come without an open: the machine then makes both.
 */
export interface CloseReport {
  readonly type: "close";
  readonly key: string;
  readonly status: "completed" | "failed";
  readonly content?: readonly ContentPart[] | undefined;
  readonly item?: ItemHead | undefined;
  /** The tool did not run because somebody or some rule said no: resolves an open request for it as rejected. */
  readonly denied?: boolean | undefined;
}

/**
 * An error that the agent reported. It never ends a turn by itself: `end` does. `fatal`: the agent gives up because of
 * it, and its end follows in a later line. An end that carries its error needs none: the machine emits it.
 */
export interface ErrorReport {
  readonly type: "error";
  readonly message: string;
  readonly code: string | null;
  readonly details?: unknown;
  readonly fatal: boolean;
}

/**
 * What became known about the session. The first one with metadata makes `session.started`, later ones
 * `session.updated`.
 */
export interface SessionReport {
  readonly type: "session";
  readonly native_session_id?: string | undefined;
  readonly metadata?: Partial<SessionMetadata>;
  readonly title?: string | undefined;
  readonly model?: string | null | undefined;
  readonly mode?: string | null | undefined;
  readonly permission_mode?: string | undefined;
  readonly revert?: Revert | null | undefined;
  readonly share?: Share | null | undefined;
  readonly commands?: readonly SlashCommand[] | undefined;
}

/** A message, or one block of it, is no part of the conversation any more. */
export interface RemovedReport {
  readonly type: "removed";
  readonly place: MessagePlace;
}

/** What the agent said to an `ask`; status 0 when it could not be reached. */
export interface AnswerReport {
  readonly type: "answer";
  readonly ask_id: string;
  readonly status: number;
  readonly body: unknown;
}

export interface PermissionReport {
  readonly type: "permission";
  /** The adapter's name for the request; it comes back in the answer command. */
  readonly key: string;
  /** What is asked for, in the agent's own word: `bash`, `edit`, `doom_loop`, `external_directory`… */
  readonly action: string;
  readonly tool: string | null;
  readonly call_id: string | null;
  readonly input: unknown;
  /** The real action, from the tool's input. Rules and remembered answers are matched with it. */
  readonly requested: RequestedAction;
  /** Whether Franca itself does it for the agent: then a symlink cannot change between the decision and the action. */
  readonly byHost?: boolean | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A native confirmation, an answer seen in a recording, or the agent dropped its request (`reject`). */
export interface PermissionAnsweredReport {
  readonly type: "permission.answered";
  readonly key: string;
  readonly reply: PermissionReply;
}

export interface QuestionReport {
  readonly type: "question";
  readonly key: string;
  readonly questions: readonly Question[];
  readonly call_id: string | null;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface QuestionAnsweredReport {
  readonly type: "question.answered";
  readonly key: string;
  /** One list of labels per question; null when it was rejected or dropped. */
  readonly answers: readonly (readonly string[])[] | null;
}

/**
 * A native start of work. It joins the open turn; with none open it begins one. `user` only where a recording shows the
 * prompt.
 */
export interface BeginReport {
  readonly type: "begin";
  readonly origin: "user" | "agent" | "background";
}

/** The agent's word that it is done. Never the turn's end by itself. */
export interface EndReport {
  readonly type: "end";
  readonly reason: EndReason;
  readonly error?: ErrorInfo | undefined;
  /** The end line says something of its own (an error, an answer), so it opens and ends a turn when none is open. */
  readonly says?: boolean | undefined;
}

export type StateReport =
  | { readonly type: "state"; readonly state: "running" | "compacting" }
  | ({
      readonly type: "state";
      readonly state: "retrying";
      readonly attempt: number;
      readonly message: string;
    } & (
      | {
          /** Milliseconds until the next try. */
          readonly delayMs: number;
        }
      | {
          /** The time of the next try by the wall clock, in epoch milliseconds. */
          readonly nextAt: number;
        }
    ));

/** The full set of work that outlives its turn; replaces the former set. */
export interface BackgroundReport {
  readonly type: "background";
  readonly open: readonly (BackgroundWork & { readonly call_id?: string })[];
}

/**
 * Tokens and cost. `add` adds; `total` is the agent's own counter of that scope, from which the machine makes
 * differences.
 * `step` is one model call at its end. `tokens.input` excludes cache, `tokens.output` excludes reasoning.
 */
export interface UsageReport {
  readonly type: "usage";
  readonly scope: "step" | "turn" | "session";
  readonly mode: "add" | "total";
  readonly tokens?: Tokens | undefined;
  readonly cost_usd?: number | undefined;
  /** The agent's own word; the machine puts it into ours. */
  readonly finish?: string | undefined;
  readonly message_id?: string | undefined;
}

export interface TodoReport {
  readonly type: "todo";
  readonly todos: readonly Todo[];
}

/** A line that fits no shape we know. */
export interface UnparsedReport {
  readonly type: "unparsed";
  readonly error: string;
  readonly location: string;
  /** The text the hash is made of. */
  readonly text: string;
}

/** Where the host of a recording said it: the number of that line among the native lines. The agent did not. */
interface ByHost {
  readonly host?: number | undefined;
}

export type Report = ByHost &
  (
    | OpenReport
    | DeltaReport
    | CloseReport
    | ErrorReport
    | SessionReport
    | RemovedReport
    | AnswerReport
    | PermissionReport
    | PermissionAnsweredReport
    | QuestionReport
    | QuestionAnsweredReport
    | BeginReport
    | EndReport
    | StateReport
    | BackgroundReport
    | UsageReport
    | TodoReport
    | UnparsedReport
  );

/**
 * What a person, a host or a program asks of a session. Commands enter by one door and are data like everything else.
 */
import type { BudgetLimits, SessionBudget } from "./budget.ts";
import type { MessagePlace, PermissionMode, Revert, StderrExcerpt } from "./events.ts";
import type { PermissionId, PromptId, QuestionId } from "./ids.ts";
import type { PermissionRule } from "./resources.ts";

export interface Attachment {
  readonly path: string;
  readonly mime?: string;
  readonly filename?: string;
}

/** A piece of a prompt's text. */
export interface PromptText {
  readonly text: string;
  /** Written by a program for the model, not by the person. */
  readonly synthetic?: boolean;
  /** For people only: the agent is not given it. */
  readonly ignored?: boolean;
}

export interface Prompt {
  readonly prompt_id: PromptId;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** What its turn may use; what it does not name is as the session has it. */
  readonly budget?: BudgetLimits;
  /** Made by a client that wants its own id on the user message; kept where a dialect has such ids. */
  readonly client_id?: string;
  readonly extras?: PromptExtras;
}

/** What a prompt may carry beside words and files, for agents that understand it (`capabilities.extras`). */
export interface PromptExtras {
  /** The text in parts of different kinds, in order. The words of a prompt say the same, without what is ignored. */
  readonly parts?: readonly PromptText[];
  /** Instructions for this prompt alone. */
  readonly system?: string;
  /** The shape of the answer: `{type: "json_schema", schema}`. */
  readonly format?: Readonly<Record<string, unknown>>;
  /** Which tools may be used from now on, by name. */
  readonly tools?: Readonly<Record<string, boolean>>;
  /** A slash command of the agent's own. The words say the same, for agents that find commands in them. */
  readonly command?: { readonly name: string; readonly arguments: string };
  /** Work for subagents, in the agent's own form. */
  readonly subtask?: readonly Readonly<Record<string, unknown>>[];
  /** Subagents that the words mention, in the agent's own form. */
  readonly agent?: readonly Readonly<Record<string, unknown>>[];
}

/**
 * What may be asked of an agent beside its turns, where it can (`capabilities.asks`). It answers each, and the answer
 * goes back to the caller; what changes in the session is an event.
 */
export type Ask =
  /** Everything from this message on is taken back, files too; for good with the next prompt. */
  | { readonly word: "revert"; readonly message_id: string; readonly native_item_id?: string }
  | { readonly word: "unrevert" }
  /** Shown to others at an address, and not any more. */
  | { readonly word: "share" }
  | { readonly word: "unshare" }
  /** One message, or one block of it, is taken out of the conversation. */
  | { readonly word: "remove"; readonly message_id: string; readonly native_item_id?: string }
  /** A user's message that nobody answers. */
  | { readonly word: "note"; readonly prompt: Prompt };
export type AskWord = Ask["word"];

export type PermissionReply = "once" | "always" | "reject";

/** An answer to a permission request. */
export interface PermissionAnswer {
  readonly reply: PermissionReply;
  /** With `always`: one of the request's broader scopes. Without it, `always` is the exact action. */
  readonly scope?: string;
  /** With `reject`: why, for the agent. */
  readonly message?: string;
}

/** What may be changed on a living session. */
export interface SessionChange {
  readonly title?: string;
  readonly model?: string;
  readonly variant?: string;
  readonly mode?: string;
  readonly permission_mode?: PermissionMode;
  readonly permission_rules?: readonly PermissionRule[];
  readonly budget?: SessionBudget;
}

/** What an agent starts a session with; null for its own choice. */
export interface AgentSettings {
  readonly model: string | null;
  readonly variant: string | null;
  readonly mode: string | null;
  readonly permission_mode: PermissionMode;
}

export type Command =
  | { readonly type: "prompt"; readonly prompt: Prompt; readonly delivery: "queue" | "steer" }
  | ({ readonly type: "permission.reply"; readonly permission_id: PermissionId } & PermissionAnswer)
  | {
      readonly type: "question.reply";
      readonly question_id: QuestionId;
      readonly answers: readonly (readonly string[])[];
    }
  | { readonly type: "question.reject"; readonly question_id: QuestionId; readonly message?: string }
  /** With `prompt_id`: only that prompt, whether it waits in the queue or runs. */
  | { readonly type: "abort"; readonly clear_queue: boolean; readonly prompt_id?: PromptId }
  /** `standIn`: nobody chose the title, it only stands there until somebody, or the agent, has a better one. */
  | { readonly type: "set"; readonly change: SessionChange; readonly standIn?: boolean }
  /** Before its first turn a session may be given to another agent; it starts with the settings of this command. */
  | { readonly type: "change_agent"; readonly agent: string; readonly settings: AgentSettings }
  | { readonly type: "compact" }
  /** A command that the person typed. `client_id`: a client's own id for its user message. */
  | { readonly type: "shell"; readonly command: string; readonly client_id?: string }
  | { readonly type: "ask"; readonly ask_id: string; readonly ask: Ask }
  /**
   * The host takes the conversation back, for agents that do not do it themselves: from a message on (`revert`), for
   * good (`removed`), or not any more.
   */
  | { readonly type: "revert"; readonly revert: Revert | null; readonly removed?: readonly MessagePlace[] }
  | { readonly type: "stop_continuing" }
  | {
      readonly type: "terminate";
      readonly by: "user" | "daemon";
      readonly message?: string;
      /** How the agent's process ended, where it had one. */
      readonly exit_code?: number | null;
      readonly stderr?: StderrExcerpt;
    };

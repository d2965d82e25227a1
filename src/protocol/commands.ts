/**
 * What a person, a host or a program asks of a session. Commands enter by one door and are data like everything else.
 */
import type { PermissionMode } from "./events.ts";
import type { PermissionId, PromptId, QuestionId } from "./ids.ts";

export interface Attachment {
  readonly path: string;
  readonly mime?: string;
  readonly filename?: string;
}

export interface Prompt {
  readonly prompt_id: PromptId;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Made by a client that wants its own id on the user message; kept where a dialect has such ids. */
  readonly client_id?: string;
}

export type PermissionReply = "once" | "always" | "reject";

/** What may be changed on a living session. */
export interface SessionChange {
  readonly title?: string;
  readonly model?: string;
  readonly variant?: string;
  readonly mode?: string;
  readonly permission_mode?: PermissionMode;
}

export type Command =
  | { readonly type: "prompt"; readonly prompt: Prompt; readonly delivery: "queue" | "steer" }
  | {
      readonly type: "permission.reply";
      readonly permission_id: PermissionId;
      readonly reply: PermissionReply;
      readonly message?: string;
    }
  | {
      readonly type: "question.reply";
      readonly question_id: QuestionId;
      readonly answers: readonly (readonly string[])[];
    }
  | { readonly type: "question.reject"; readonly question_id: QuestionId; readonly message?: string }
  | { readonly type: "abort"; readonly clear_queue: boolean }
  | { readonly type: "set"; readonly change: SessionChange }
  | { readonly type: "compact" }
  | { readonly type: "shell"; readonly command: string }
  | { readonly type: "stop_continuing" }
  | { readonly type: "terminate"; readonly by: "user" | "daemon"; readonly message?: string };

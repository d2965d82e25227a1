/** What an agent can do: the table by which commands are accepted or refused, its modes and its models. */
import type { AskWord, PromptExtras } from "../protocol/commands.ts";
import type { PermissionMode } from "../protocol/events.ts";
import type { ModelSummary } from "../protocol/resources.ts";

export interface Capabilities {
  readonly permissions: boolean;
  readonly questions: boolean;
  readonly steer: boolean;
  readonly resume: boolean;
  readonly fork: boolean;
  readonly compact: boolean;
  readonly shell: boolean;
  readonly images: boolean;
  readonly mcp: boolean;
  readonly systemPrompt: boolean;
  readonly deltas: boolean;
  readonly todos: boolean;
  readonly subagents: boolean;
  readonly reasoning: boolean;
  readonly cost: boolean;
  /** The agent echoes each prompt as a user item of its own, so the machine makes none. */
  readonly echoesPrompts: boolean;
  /** Its process serves one turn and then goes by itself: the next prompt waits until it is gone. */
  readonly oneTurn?: boolean;
  readonly permissionModes: readonly PermissionMode[];
  /** It branches off before any message, not only at the end of a conversation. */
  readonly forkAt?: boolean;
  /**
   * The host may take its conversation back: started again, it goes on without the messages that were removed from the
   * log. (An agent that takes back by itself has `revert` in `asks`.)
   */
  readonly rewind?: boolean;
  /** It takes permission rules and keeps them itself. */
  readonly permissionRules?: boolean;
  /** It can run its commands in a sandbox of its own, which must work inside the view that hides the data folder. */
  readonly ownSandbox?: boolean;
  /** What may be asked of it beside turns; nothing when absent. */
  readonly asks?: readonly AskWord[];
  /** What its prompts may carry beside words and files; nothing when absent. */
  readonly extras?: readonly (keyof PromptExtras)[];
  /** What may be changed in mid-session. */
  readonly set: readonly ("model" | "variant" | "mode" | "permission_mode")[];
}

/** An agent that can do nothing but run a prompt: each adapter says what its agent can beyond that. */
export const noCapabilities: Capabilities = {
  permissions: false,
  questions: false,
  steer: false,
  resume: false,
  fork: false,
  compact: false,
  shell: false,
  images: false,
  mcp: false,
  systemPrompt: false,
  deltas: false,
  todos: false,
  subagents: false,
  reasoning: false,
  cost: false,
  echoesPrompts: false,
  permissionModes: [],
  set: [],
};

export interface AgentMode {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/** Which models the agent offers: names that every version knows, or what its program prints when asked. */
export type ModelSource =
  | { readonly kind: "list"; readonly models: readonly ModelSummary[] }
  /** `parse` gives an empty list for what it does not understand. */
  | {
      readonly kind: "printed";
      readonly args: readonly string[];
      readonly parse: (output: string) => readonly ModelSummary[];
    };

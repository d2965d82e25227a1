/** What the adapter remembers between lines. */
import type { BuiltinSays } from "../../dialects/builtin.ts";
import type { Subagent, ToolKind } from "../../protocol/items.ts";

export interface Call {
  readonly tool: string;
  readonly kind: ToolKind;
  readonly message_id: string;
  readonly parent: string;
  readonly subagent: Subagent | undefined;
  /** The arguments are complete: from here on lines are about the result. */
  called: boolean;
}

export interface State {
  /** The latest message item of each native message that is being written; tool calls hang on it. */
  readonly latest: Map<string, string>;
  readonly calls: Map<string, Call>;
  readonly subagents: Map<string, Subagent>;
  /** User messages seen in a recording, so that each has a key of its own. */
  prompts: number;
  /** A state was reported that the next model step leaves. */
  waiting: boolean;
}

export type Says<T extends BuiltinSays["type"]> = Extract<BuiltinSays, { type: T }>;

/** The subagent that a line names, if any. */
export const subagentOf = (
  state: State,
  { subagent }: { readonly subagent?: string | undefined },
): Subagent | undefined => (subagent === undefined ? undefined : state.subagents.get(subagent));

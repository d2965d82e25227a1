/** What the adapter remembers between lines, and the heads of the items it opens. */
import type { ItemHead } from "../../core/report.ts";
import type { BuiltinSays } from "../../dialects/builtin.ts";
import type { ContentPart, Subagent, ToolKind } from "../../protocol/items.ts";

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

export function messageHead(
  state: State,
  {
    line,
    key,
    content,
  }: {
    line: { readonly message_id: string; readonly subagent?: string | undefined };
    key: string;
    content: readonly ContentPart[];
  },
): ItemHead {
  return {
    key,
    native_item_id: key,
    kind: "message",
    role: "assistant",
    message_id: line.message_id,
    ...ofSubagent(state, line.subagent),
    content,
  };
}

export const ofSubagent = (state: State, id: string | undefined): { readonly subagent?: Subagent } => {
  const subagent = id === undefined ? undefined : state.subagents.get(id);
  return subagent === undefined ? {} : { subagent };
};

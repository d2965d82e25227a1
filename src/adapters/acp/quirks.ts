/** In what an ACP agent differs from the others: data and small functions, one file per agent in `agents/`. */
import type { AcpTool } from "../../dialects/acp.ts";
import type { PermissionMode, Tokens } from "../../protocol/events.ts";

export interface Quirks {
  /** It serves the draft of version 2, which says when it works and when it is idle. */
  readonly version?: 2;
  /** Its own names for our permission modes. A mode that is not here is one that it does not have. */
  readonly modes?: Partial<Readonly<Record<PermissionMode, string>>>;
  /** The tool's name, where neither `name` nor the first title is it. */
  readonly toolName?: (tool: AcpTool) => string | undefined;
  /** What the text of a tool call is before its end: its output so far, or its arguments while they are written. */
  readonly content?: "output" | "input";
  /** Words of the agent itself that it sends as if the model had said them. */
  readonly ownWords?: (chunk: Chunk) => OwnWords | null;
  /** `usage` of a prompt's result: absent when it counts the turn and leaves the cache out of the input. */
  readonly usage?: { readonly includesCache?: boolean };
  /** Counts that it sends beside the protocol, with an update or a result. */
  readonly tokensIn?: (meta: unknown) => Tokens | null;
  /** What a notification or a request of its own means; null when we do not know it. */
  readonly extension?: (method: string, params: unknown) => readonly Extension[] | null;
  /** A command may go on when its turn ends, and when the turn is cancelled. */
  readonly commandsOutlive?: boolean;
  /** By the metadata of a usage update: a turn that nobody asked for is over. */
  readonly endsUnasked?: (meta: unknown) => boolean;
  /** The subagent that an update belongs to, where it has no session of its own. */
  readonly subagentOf?: (meta: unknown) => { readonly id: string } | null;
  /** It answers several prompts at the end of one stretch of work. */
  readonly mergesPrompts?: boolean;
}

export interface Chunk {
  readonly text: string;
  readonly messageId: string | null;
  readonly meta: unknown;
  /** The first piece of a text. */
  readonly first: boolean;
  /** The agent has said before that it is in trouble. */
  readonly alarmed: boolean;
}

export type OwnWords =
  /** The reason of a failure; if nothing follows, the turn has failed. */
  | { readonly type: "error"; readonly message: string }
  | { readonly type: "status"; readonly label: string; readonly detail: string }
  | { readonly type: "retry"; readonly attempt: number; readonly delayMs: number; readonly message: string }
  | { readonly type: "mode"; readonly mode: string };

export type Extension =
  /** Nothing that is not said elsewhere. */
  | { readonly type: "ignored" }
  | { readonly type: "usage"; readonly tokens: Tokens }
  | OwnWords
  /** It works without having been asked, until the second of them. */
  | { readonly type: "unasked.begin" }
  | { readonly type: "unasked.end" }
  | { readonly type: "model"; readonly model: string }
  | { readonly type: "subagent.begin"; readonly id: string; readonly title: string }
  | { readonly type: "subagent.end"; readonly id: string; readonly failed: boolean };

export const ignored: readonly Extension[] = [{ type: "ignored" }];

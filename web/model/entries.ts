/** The parts of a conversation as it is shown: what was said, done, asked and decided, in order. */
import type {
  EndReason,
  ErrorInfo,
  Evidence,
  Origin,
  Permission,
  QuestionRequest,
  UsageTotal,
} from "../../src/protocol/events.ts";
import type { FileRefPart, ImagePart, ToolKind } from "../../src/protocol/items.ts";

/** Changed in place while events come; `rev` grows with every change, so that a view knows when to draw again. */
interface Changing {
  readonly key: string;
  rev: number;
}

export interface TextEntry extends Changing {
  readonly type: "prompt" | "text" | "reasoning" | "system";
  text: string;
  streaming: boolean;
  failed: boolean;
  readonly startedAt: number;
  endedAt: number | null;
  images: readonly ImagePart[];
  files: readonly FileRefPart[];
  /** The reasoning was not shown by the provider. */
  hidden: boolean;
  /** A prompt that somebody else than the person sent: the continuation governor, or the agent itself. */
  readonly by: "person" | "daemon";
}

export type ToolState = "pending" | "running" | "completed" | "failed" | "needs" | "denied";

export interface ToolEntry extends Changing {
  readonly type: "tool";
  readonly callId: string;
  name: string;
  kind: ToolKind;
  title: string;
  /** JSON as the agent wrote it. */
  input: string;
  output: string;
  state: ToolState;
  exitCode: number | null;
  readonly startedAt: number;
  /** When the tool began to run; null while its arguments are written. */
  ranAt: number | null;
  endedAt: number | null;
  files: readonly FileRefPart[];
  images: readonly ImagePart[];
  /** The words and tools of the subagent that the call started. */
  readonly children: Entry[];
  /** Still running after its call returned. */
  background: boolean;
}

export interface PermissionEntry extends Changing {
  readonly type: "permission";
  request: Permission;
  readonly askedAt: number;
  resolvedAt: number | null;
  /** Who resolved it: a client, or the daemon at a deadline or a turn's end. */
  by: "agent" | "daemon" | null;
  rule: string | null;
}

export interface QuestionEntry extends Changing {
  readonly type: "question";
  request: QuestionRequest;
  readonly askedAt: number;
  resolvedAt: number | null;
}

export interface StateEntry extends Changing {
  readonly type: "retrying" | "compacting";
  readonly attempt: number | null;
  readonly message: string;
  readonly next: number | null;
  readonly startedAt: number;
  endedAt: number | null;
}

export interface NoteEntry extends Changing {
  readonly type: "note";
  readonly tone: "plain" | "error";
  readonly label: string;
  readonly detail: string;
  readonly at: number;
}

export interface EndEntry extends Changing {
  readonly type: "end";
  readonly turn: Turn;
}

export type RequestEntry = PermissionEntry | QuestionEntry;
export type Entry = TextEntry | ToolEntry | RequestEntry | StateEntry | NoteEntry | EndEntry;

/** How a turn ended: these come together. */
export interface Ending {
  readonly at: number;
  readonly reason: EndReason;
  readonly evidence: Evidence;
  readonly error: ErrorInfo | null;
  readonly line: number | null;
  readonly rule: string | null;
  readonly sequence: number;
  readonly closedItems: number;
}

export interface Turn {
  readonly id: string;
  readonly number: number;
  readonly origin: Origin;
  readonly startedAt: number;
  /** Where its events begin. */
  readonly sequence: number;
  prompt: string;
  steps: number;
  usage: UsageTotal | null;
  retries: number;
  compactions: number;
  continuations: number;
  end: Ending | null;
  background: readonly { readonly id: string; readonly kind: string; readonly title: string }[];
}

export const isRequest = (entry: Entry): entry is RequestEntry =>
  entry.type === "permission" || entry.type === "question";

export const isOpen = (entry: RequestEntry): boolean => entry.resolvedAt === null;

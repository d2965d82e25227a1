/**
 * OpenCode's own words, as its server sends them (1.x) and as its clients expect them: the same types serve both ways.
 * Required are the fields that `isOpenCodeLine` checks, because we read them; the others are optional.
 */

export interface OpenCodeTokens {
  readonly total?: number;
  /** Without what was read from or written to the cache. */
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cache: { readonly read: number; readonly write: number };
}

/**
 * Names seen: APIError, MessageAbortedError, ContextOverflowError, ContentFilterError, ProviderAuthError, UnknownError.
 */
export interface OpenCodeError {
  readonly name: string;
  readonly data?: {
    readonly message?: string;
    readonly statusCode?: number;
    readonly isRetryable?: boolean;
    readonly responseBody?: string;
    readonly [extra: string]: unknown;
  };
}

export interface OpenCodeFileDiff {
  readonly file?: string;
  readonly patch?: string;
  readonly additions: number;
  readonly deletions: number;
  readonly status?: "added" | "deleted" | "modified";
}

export interface OpenCodePermissionRule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: "allow" | "deny" | "ask";
}

export interface OpenCodeSession {
  readonly id: string;
  readonly slug?: string;
  readonly projectID?: string;
  readonly directory?: string;
  readonly path?: string;
  /** The session whose task tool made this one. */
  readonly parentID?: string | undefined;
  readonly title?: string;
  readonly agent?: string;
  readonly model?: { readonly id: string; readonly providerID: string; readonly variant?: string | undefined };
  readonly version?: string;
  readonly summary?: {
    readonly additions: number;
    readonly deletions: number;
    readonly files: number;
    readonly diffs?: readonly OpenCodeFileDiff[];
  };
  readonly share?: { readonly url: string } | undefined;
  readonly cost?: number;
  readonly tokens?: OpenCodeTokens;
  readonly time?: {
    readonly created: number;
    readonly updated: number;
    readonly compacting?: number;
    readonly archived?: number | undefined;
  };
  readonly permission?: readonly OpenCodePermissionRule[];
  readonly revert?: Revert | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

type Revert = { readonly messageID: string } & { readonly [Name in "partID" | "snapshot" | "diff"]?: string };

export interface OpenCodeUserMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly role: "user";
  readonly time?: { readonly created: number };
  readonly agent?: string;
  readonly model?: { readonly providerID: string; readonly modelID: string; readonly variant?: string | undefined };
  readonly summary?: { readonly title?: string; readonly body?: string; readonly diffs: readonly OpenCodeFileDiff[] };
  readonly system?: string;
  readonly tools?: Readonly<Record<string, boolean>>;
}

/** One model step is one assistant message. */
export interface OpenCodeAssistantMessage {
  readonly id: string;
  readonly sessionID: string;
  readonly role: "assistant";
  readonly parentID?: string;
  readonly time?: { readonly created: number; readonly completed?: number | undefined };
  readonly modelID?: string;
  readonly providerID?: string;
  readonly variant?: string | undefined;
  readonly mode?: string;
  readonly agent?: string;
  readonly path?: { readonly cwd: string; readonly root: string };
  readonly cost?: number;
  readonly tokens?: OpenCodeTokens;
  /** `stop`, `tool-calls`, `length`, `content-filter`, `other`, `unknown`. */
  readonly finish?: string | undefined;
  readonly error?: OpenCodeError | undefined;
  /** True on the message that holds a compaction's summary. */
  readonly summary?: boolean | undefined;
  /** The answer in the shape that the prompt asked for. */
  readonly structured?: unknown;
}

export type OpenCodeMessage = OpenCodeUserMessage | OpenCodeAssistantMessage;

interface PartBase {
  readonly id: string;
  readonly sessionID: string;
  readonly messageID: string;
}

export interface OpenCodePartTime {
  readonly start: number;
  readonly end?: number;
}

export interface OpenCodeTextPart extends PartBase {
  readonly type: "text";
  readonly text: string;
  /** Written by OpenCode for the model, not by the person or the model. */
  readonly synthetic?: boolean | undefined;
  readonly ignored?: boolean | undefined;
  /** `end` says that the text is final. */
  readonly time?: OpenCodePartTime;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface OpenCodeReasoningPart extends PartBase {
  readonly type: "reasoning";
  readonly text: string;
  readonly time?: OpenCodePartTime;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface OpenCodeFilePart extends PartBase {
  readonly type: "file";
  readonly mime: string;
  readonly filename?: string;
  readonly url: string;
  readonly source?: { readonly type: string; readonly path?: string; readonly [extra: string]: unknown };
}

export type OpenCodeToolInput = Readonly<Record<string, unknown>>;
export type OpenCodeToolMetadata = Readonly<Record<string, unknown>>;

export type OpenCodeToolState =
  | { readonly status: "pending"; readonly input: OpenCodeToolInput; readonly raw?: string }
  | {
      readonly status: "running";
      readonly input: OpenCodeToolInput;
      readonly title?: string | undefined;
      readonly metadata?: OpenCodeToolMetadata | undefined;
      readonly time?: { readonly start: number };
    }
  | {
      readonly status: "completed";
      readonly input: OpenCodeToolInput;
      readonly output: string;
      readonly title?: string | undefined;
      readonly metadata?: OpenCodeToolMetadata | undefined;
      readonly time?: { readonly start: number; readonly end: number; readonly compacted?: number };
      readonly attachments?: readonly OpenCodeFilePart[] | undefined;
    }
  | {
      readonly status: "error";
      readonly input: OpenCodeToolInput;
      readonly error: string;
      readonly metadata?: OpenCodeToolMetadata | undefined;
      readonly time?: { readonly start: number; readonly end: number };
    };

export interface OpenCodeToolPart extends PartBase {
  readonly type: "tool";
  readonly callID: string;
  readonly tool: string;
  readonly state: OpenCodeToolState;
  readonly metadata?: OpenCodeToolMetadata | undefined;
}

export interface OpenCodeStepStartPart extends PartBase {
  readonly type: "step-start";
  readonly snapshot?: string;
}

export interface OpenCodeStepFinishPart extends PartBase {
  readonly type: "step-finish";
  readonly reason: string;
  readonly snapshot?: string;
  readonly cost: number;
  readonly tokens: OpenCodeTokens;
}

export interface OpenCodeSnapshotPart extends PartBase {
  readonly type: "snapshot";
  readonly snapshot?: string;
}

/** The files that a model step changed. */
export interface OpenCodePatchPart extends PartBase {
  readonly type: "patch";
  readonly hash?: string;
  readonly files: readonly string[];
}

export interface OpenCodeAgentPart extends PartBase {
  readonly type: "agent";
  readonly name: string;
}

export interface OpenCodeRetryPart extends PartBase {
  readonly type: "retry";
  readonly attempt: number;
  readonly error: OpenCodeError;
  readonly time?: { readonly created: number };
}

/** On a user message: here the conversation was compacted. */
export interface OpenCodeCompactionPart extends PartBase {
  readonly type: "compaction";
  readonly auto: boolean;
  readonly overflow?: boolean;
}

export interface OpenCodeSubtaskPart extends PartBase {
  readonly type: "subtask";
  readonly prompt: string;
  readonly description: string;
  readonly agent: string;
  readonly command?: string;
}

export type OpenCodePart =
  | OpenCodeTextPart
  | OpenCodeReasoningPart
  | OpenCodeFilePart
  | OpenCodeToolPart
  | OpenCodeStepStartPart
  | OpenCodeStepFinishPart
  | OpenCodeSnapshotPart
  | OpenCodePatchPart
  | OpenCodeAgentPart
  | OpenCodeRetryPart
  | OpenCodeCompactionPart
  | OpenCodeSubtaskPart;

export type OpenCodeStatus =
  | { readonly type: "idle" }
  | { readonly type: "busy" }
  /** `next` is epoch milliseconds. */
  | { readonly type: "retry"; readonly attempt: number; readonly message: string; readonly next: number };

export interface OpenCodeTodo {
  readonly id?: string;
  readonly content: string;
  /** `pending`, `in_progress`, `completed`, `cancelled`. */
  readonly status: string;
  readonly priority?: string;
}

export interface OpenCodePermission {
  readonly id: string;
  readonly sessionID: string;
  readonly permission: string;
  readonly patterns: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** What an answer `always` would allow. */
  readonly always?: readonly string[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
}

export interface OpenCodeQuestionInfo {
  readonly question: string;
  readonly header?: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  readonly multiple?: boolean;
  readonly custom?: boolean;
}

export interface OpenCodeQuestion {
  readonly id: string;
  readonly sessionID: string;
  readonly questions: readonly OpenCodeQuestionInfo[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
}

export type OpenCodePermissionReply = "once" | "always" | "reject";

/** Distributes over names, so that each name is a variant of its own. `id` is `evt_…`; older servers send none. */
type Event<Type extends string, Properties> = Type extends string
  ? { readonly id?: string; readonly type: Type; readonly properties: Properties }
  : never;

interface OfSession {
  readonly sessionID: string;
}

interface About<Info> {
  readonly sessionID?: string;
  readonly info: Info;
}

/** Events about a conversation. */
export type OpenCodeSessionEvent =
  | Event<"session.created" | "session.updated" | "session.deleted", About<OpenCodeSession>>
  | Event<"session.status", OfSession & { readonly status: OpenCodeStatus }>
  | Event<"session.idle" | "session.compacted", OfSession>
  | Event<"session.error", { readonly sessionID?: string; readonly error?: OpenCodeError }>
  | Event<"session.diff", OfSession & { readonly diff?: readonly OpenCodeFileDiff[] }>
  | Event<"message.updated", About<OpenCodeMessage>>
  | Event<"message.removed", OfSession & { readonly messageID: string }>
  /** `delta` is how servers before 1.1 sent new text. */
  | Event<
      "message.part.updated",
      { readonly sessionID?: string; readonly part: OpenCodePart; readonly delta?: string; readonly time?: number }
    >
  | Event<
      "message.part.delta",
      OfSession & {
        readonly messageID: string;
        readonly partID: string;
        readonly field: string;
        readonly delta: string;
      }
    >
  | Event<"message.part.removed", OfSession & { readonly messageID: string; readonly partID: string }>
  | Event<"permission.asked", OpenCodePermission>
  | Event<"permission.replied", OfSession & { readonly requestID: string; readonly reply: OpenCodePermissionReply }>
  | Event<"question.asked", OpenCodeQuestion>
  | Event<
      "question.replied",
      OfSession & { readonly requestID: string; readonly answers: readonly (readonly string[])[] }
    >
  | Event<"question.rejected", OfSession & { readonly requestID: string }>
  | Event<"todo.updated", OfSession & { readonly todos: readonly OpenCodeTodo[] }>
  | Event<
      "command.executed",
      OfSession & { readonly name: string; readonly arguments: string; readonly messageID: string }
    >;

/** Events about the server, the project and its files. */
export type OpenCodeServerEvent =
  | Event<"file.edited", { readonly file: string }>
  | Event<"file.watcher.updated", { readonly file: string; readonly event: string }>
  | Event<Exclude<OpenCodeServerEventName, "file.edited" | "file.watcher.updated">, Readonly<Record<string, unknown>>>;

/** All that a server may say about itself. */
export const openCodeServerEventNames = [
  "server.connected",
  "server.heartbeat",
  "server.instance.disposed",
  "global.disposed",
  "plugin.added",
  "catalog.updated",
  "models-dev.refreshed",
  "reference.updated",
  "integration.updated",
  "integration.connection.updated",
  "installation.updated",
  "installation.update-available",
  "lsp.updated",
  "lsp.client.diagnostics",
  "mcp.tools.changed",
  "mcp.browser.open.failed",
  "project.updated",
  "project.directories.updated",
  "vcs.branch.updated",
  "workspace.ready",
  "workspace.failed",
  "workspace.status",
  "worktree.ready",
  "worktree.failed",
  "pty.created",
  "pty.updated",
  "pty.exited",
  "pty.deleted",
  "tui.prompt.append",
  "tui.command.execute",
  "tui.toast.show",
  "tui.session.select",
  "file.edited",
  "file.watcher.updated",
] as const;
export type OpenCodeServerEventName = (typeof openCodeServerEventNames)[number];

/** One event of `GET /event`, or the payload of one of `GET /global/event`. */
export type OpenCodeEvent = OpenCodeSessionEvent | OpenCodeServerEvent;
export type OpenCodeEventOf<Type extends OpenCodeEvent["type"]> = Extract<OpenCodeEvent, { readonly type: Type }>;

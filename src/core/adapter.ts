/** What an agent's adapter is: one fold for both directions, and data that says how to reach the agent. */
import type { Ask, AskWord, PermissionReply, Prompt, PromptExtras, SessionChange } from "../protocol/commands.ts";
import type { PermissionMode, StderrExcerpt } from "../protocol/events.ts";
import type { ModelSummary } from "../protocol/resources.ts";
import type { Fold } from "./fold.ts";
import type { Report } from "./report.ts";
import type { Route } from "./route.ts";

/** What the turn machine asks of an agent. Requests are named by the key the adapter gave them. */
export type AgentCommand =
  | { readonly type: "prompt"; readonly prompt: Prompt }
  /** Into the running turn; only for agents that can (`capabilities.steer`). */
  | { readonly type: "steer"; readonly prompt: Prompt }
  | {
      readonly type: "permission.reply";
      readonly key: string;
      readonly reply: PermissionReply;
      readonly message?: string;
    }
  | { readonly type: "question.reply"; readonly key: string; readonly answers: readonly (readonly string[])[] }
  | { readonly type: "question.reject"; readonly key: string; readonly message?: string }
  | { readonly type: "abort" }
  | { readonly type: "set"; readonly change: SessionChange }
  | { readonly type: "compact" }
  | { readonly type: "shell"; readonly command: string }
  /** Only what the agent can (`capabilities.asks`). An `answer` report of the same id follows. */
  | { readonly type: "ask"; readonly ask_id: string; readonly ask: Ask };

/** How a connection ended. All null: the stream just ended and nobody knows why. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not start or go on, in a sentence for the user. */
  readonly message?: string;
  /** The error code that goes with the message; `agent_exited` when absent. */
  readonly error_code?: string;
  readonly stderr?: StderrExcerpt;
}

export type AdapterInput<Line> =
  | { readonly type: "line"; readonly from: "agent" | "host"; readonly line: Line; readonly at: number }
  | { readonly type: "command"; readonly command: AgentCommand; readonly at: number }
  /**
   * `first`: this session opened the connection; false when it joins one that is already in use. `options`: what the
   * connection was launched with, for agents that are told of the session (directory, resume, model…) in their
   * protocol.
   */
  | { readonly type: "connected"; readonly first: boolean; readonly options: LaunchOptions; readonly at: number }
  | { readonly type: "disconnected"; readonly exit: Exit; readonly at: number }
  | {
      readonly type: "response";
      readonly id: string;
      readonly status: number;
      readonly body: unknown;
      readonly at: number;
    }
  | { readonly type: "tick"; readonly at: number };

/** What we say to the agent. */
export type Send =
  /** One JSON line on the pipe. */
  | { readonly type: "send.line"; readonly line: unknown }
  /** One HTTP exchange; the answer returns as a `response` input with the same id. Status 0: it could not be sent. */
  | {
      readonly type: "send.request";
      readonly id: string;
      readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
      readonly path: string;
      readonly body?: unknown;
      /** The session cannot be had from this agent: the edge ends the connection when the request fails. */
      readonly vital?: boolean;
    }
  | { readonly type: "send.signal"; readonly signal: "interrupt" | "terminate" | "kill" }
  /** Nothing more will be written: closes the pipe. */
  | { readonly type: "send.close" };

export interface McpServer {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a session asks of its agent, when it is opened and every time it is resumed. */
export interface LaunchOptions {
  readonly session_id: string;
  readonly directory: string;
  /** The native id to go on with; null for a new conversation. */
  readonly resume: string | null;
  /** Go on from `resume` in a conversation of its own. */
  readonly fork: boolean;
  /** The branch begins before this message of `resume`, for agents that can; null: at its end. */
  readonly fork_at: string | null;
  readonly model: string | null;
  readonly variant: string | null;
  readonly mode: string | null;
  readonly permission_mode: PermissionMode;
  readonly system_prompt: string | null;
  readonly mcp: Readonly<Record<string, McpServer>>;
  readonly env: Readonly<Record<string, string>>;
  /** The binary that was found for the agent, where it has one. */
  readonly binary: string | null;
  /** For agents with one process per turn. */
  readonly prompt: Prompt | null;
  /** Whether we run as root, which some agents refuse. */
  readonly asRoot: boolean;
}

/** How to open the connection: data, not a process. */
export type Launch =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      /** `turn`: a new process for every prompt, which exits by itself. */
      readonly lifetime: "session" | "turn";
      /** Sessions with the same key share one process. */
      readonly shared?: string;
    }
  | {
      readonly kind: "http";
      /** Serves until we stop it; ready when a line of its output matches `ready` (the first group is the base url). */
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly ready: string;
      /** The stream of events. */
      readonly events: string;
      readonly shared: string;
      /** An already running server: nothing is started. */
      readonly url?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "in-process"; readonly agent: string }
  /** It cannot be launched as asked: a sentence that says what to do. */
  | {
      readonly kind: "refused";
      readonly code: "not_supported" | "mode_not_supported" | "agent_not_installed" | "invalid_request";
      readonly message: string;
    };

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
  /** What may be asked of it beside turns; nothing when absent. */
  readonly asks?: readonly AskWord[];
  /** What its prompts may carry beside words and files; nothing when absent. */
  readonly extras?: readonly (keyof PromptExtras)[];
  /** What may be changed in mid-session. */
  readonly set: readonly ("model" | "variant" | "mode" | "permission_mode")[];
}

/** How to find, install and know the agent's binary. */
export interface Binary {
  /** The command's name on PATH. */
  readonly name: string;
  /** The npm package that `franca agents install` takes. */
  readonly package: string;
  /** Where the program is below node_modules when install scripts did not run; `{platform}`, `{arch}` are filled in. */
  readonly fallbacks: readonly string[];
  readonly versionArgs: readonly string[];
  /** Environment variables of which one suffices to run. */
  readonly credentialEnv: readonly string[];
  /** Files below HOME that hold a login. */
  readonly credentialFiles: readonly string[];
}

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

export interface AdapterDefinition<Line, State> {
  readonly agent: string;
  readonly name: string;
  /** The hand-written guard over the tag and the fields we read. What it refuses becomes `agent.unparsed`. */
  readonly isNative: (value: unknown) => value is Line;
  /** Whether this line could only be this agent's: how `--from auto` tells agents apart. */
  readonly recognises: (value: unknown) => boolean;
  readonly adapter: Fold<AdapterInput<Line>, Report | Send, State>;
  /** When the adapter wants a `tick`, because an answer is overdue then; null, or absent, when it waits for none. */
  readonly wakeAt?: (state: State) => number | null;
  readonly launch: (options: LaunchOptions) => Launch;
  readonly capabilities: Capabilities;
  readonly binary?: Binary;
  readonly modes?: readonly AgentMode[];
  readonly models?: ModelSource;
  /** For connections that carry several sessions. */
  readonly route?: (line: Line) => Route;
  /** A format for `convert` only: there is nothing to launch. */
  readonly offline?: boolean;
}

/** An adapter with its own types hidden, so that a table can hold them all. */
export interface Adapter {
  readonly agent: string;
  readonly name: string;
  readonly recognises: (value: unknown) => boolean;
  readonly open: () => RunningAdapter;
  readonly launch: (options: LaunchOptions) => Launch;
  readonly capabilities: Capabilities;
  readonly binary: Binary | null;
  readonly modes: readonly AgentMode[];
  readonly models: ModelSource | null;
  readonly route: ((value: unknown) => Route) | null;
  readonly offline: boolean;
}

/** Takes lines as parsed JSON of any shape; one that does not fit comes back as `unparsed`, so it never throws. */
export interface RunningAdapter {
  readonly step: (input: AdapterInput<unknown>) => readonly (Report | Send)[];
  readonly wakeAt: () => number | null;
}

export function defineAdapter<Line, State>(definition: AdapterDefinition<Line, State>): Adapter {
  const { isNative, route } = definition;
  return {
    agent: definition.agent,
    name: definition.name,
    recognises: definition.recognises,
    launch: definition.launch,
    capabilities: definition.capabilities,
    binary: definition.binary ?? null,
    modes: definition.modes ?? [],
    models: definition.models ?? null,
    offline: definition.offline ?? false,
    route: route === undefined ? null : (value) => (isNative(value) ? route(value) : { thread: null }),
    open: () => openAdapter(definition),
  };
}

function openAdapter<Line, State>(definition: AdapterDefinition<Line, State>): RunningAdapter {
  const { adapter, agent, wakeAt } = definition;
  const state = adapter.start();
  const isKnown = (input: AdapterInput<unknown>): input is AdapterInput<Line> =>
    input.type !== "line" || definition.isNative(input.line);
  return {
    step(input) {
      if (isKnown(input)) return adapter.step(state, input);
      // What we said ourselves and the adapter does not know of says nothing new.
      if (input.type !== "line" || input.from === "host") return [];
      return [unparsed({ agent, line: input.line })];
    },
    wakeAt: () => wakeAt?.(state) ?? null,
  };
}

const UNPARSED_EXCERPT = 160;

function unparsed({ agent, line }: { agent: string; line: unknown }): Report {
  const text = typeof line === "string" ? line : (JSON.stringify(line) ?? "undefined");
  return {
    type: "unparsed",
    error: `Not a line of ${agent} as we know it: ${text.slice(0, UNPARSED_EXCERPT)}`,
    location: agent,
    text,
  };
}

/** An agent that runs inside this process: the mock and the builtin agent. It speaks and hears lines like any other. */
export type InProcessAgent = (host: InProcessHost) => InProcessPeer;

export interface InProcessHost {
  readonly options: LaunchOptions;
  /** Says one line. False when the reader is behind: then wait for `drained` before saying more. */
  readonly emit: (line: unknown) => boolean;
  readonly drained: () => Promise<void>;
  /** The agent's own death: the connection ends as a process would. */
  readonly exit: (exit: Exit) => void;
  /** Aborted when the connection is closed by the host. */
  readonly signal: StopSignal;
  /** For process trees of the agent's own: the host knows of each from before its start until it is gone. */
  readonly processes?: {
    /** The id that every process of the tree carries in its environment. */
    readonly begin: () => Promise<string>;
    readonly ended: (runId: string) => void;
  };
}

/** The part of `AbortSignal` that pure code may name. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly addEventListener: (type: "abort", listener: () => void) => void;
}

export interface InProcessPeer {
  readonly receive: (line: unknown) => void;
}

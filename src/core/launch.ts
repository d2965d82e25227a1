/** How an agent is started: what a session asks for, and the launch that follows from it. Data, not a process. */
import type { Prompt } from "../protocol/commands.ts";
import type { PermissionMode } from "../protocol/events.ts";
import type { PermissionRule } from "../protocol/resources.ts";

export interface McpServer {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The folder of a session, for agents that run or obey something of it by themselves. */
export interface FolderFacts {
  /** Without links. */
  readonly path: string;
  /** A person has said that the folder's own settings, hooks and plugins may run. */
  readonly trusted: boolean;
  /** Where the git repository begins that holds it. */
  readonly gitRoot: string | null;
  /** Variables that keep git from running what an untrusted folder's configuration names; empty for others. */
  readonly gitEnvironment: Readonly<Record<string, string>>;
  /** Those of the files that the adapter asked about which are in the folder or above it. */
  readonly found: readonly string[];
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
  /** Go on from this place of `resume`, without what came after it; absent: at its end. */
  readonly resume_at?: string;
  readonly model: string | null;
  readonly variant: string | null;
  readonly mode: string | null;
  readonly permission_mode: PermissionMode;
  /** For agents that keep such rules themselves. */
  readonly permission_rules?: readonly PermissionRule[];
  readonly system_prompt: string | null;
  readonly mcp: Readonly<Record<string, McpServer>>;
  readonly env: Readonly<Record<string, string>>;
  /** The binary that was found for the agent, where it has one. */
  readonly binary: string | null;
  /** For agents with one process per turn. */
  readonly prompt: Prompt | null;
  /** What its processes inherit of our own environment: the usual variables and the agent's own. */
  readonly inherited: Readonly<Record<string, string>>;
  /** Whether we run as root, which some agents refuse. */
  readonly asRoot: boolean;
  /** Null for agents that run nothing of a folder. */
  readonly folder: FolderFacts | null;
}

/**
 * One word of a command line. Command lines are shown to every user of the machine, so whatever may hold a secret is
 * a file: the edge writes it for this user alone, passes its path, and removes it when the process has ended.
 */
export type Argument = string | { readonly file: string; readonly content: string };

/** How to open the connection: data, not a process. */
export type Launch =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly Argument[];
      readonly env?: Readonly<Record<string, string>>;
      /** `turn`: a new process for every prompt, which exits by itself. */
      readonly lifetime: "session" | "turn";
      /** Sessions with the same name, program and environment share one process. */
      readonly shared?: string;
    }
  | {
      readonly kind: "http";
      /**
       * Serves until we stop it; ready when a line of its output matches `ready` (the first group is the base url).
       * `{port}` in an argument is a free port.
       */
      readonly command: string;
      readonly args: readonly Argument[];
      readonly env?: Readonly<Record<string, string>>;
      readonly ready: string;
      /** The stream of events. */
      readonly events: string;
      readonly shared: string;
      /** An already running server: nothing is started. */
      readonly url?: string;
      /**
       * What the server asks for with every request (HTTP Basic). Without a password the edge makes a random one for
       * the server that it starts, and gives it in this variable.
       */
      readonly login?: { readonly user: string; readonly password: string | { readonly variable: string } };
    }
  | { readonly kind: "in-process"; readonly agent: string }
  /** It cannot be launched as asked: a sentence that says what to do. */
  | {
      readonly kind: "refused";
      readonly code:
        | "not_supported"
        | "mode_not_supported"
        | "agent_not_installed"
        | "invalid_request"
        | "folder_not_trusted";
      readonly message: string;
    };

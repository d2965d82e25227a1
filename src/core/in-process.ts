/** Agents that run inside this process: what they are given and what they give. */
import type { ModelSummary } from "../protocol/resources.ts";
import type { Exit } from "./agent-io.ts";
import type { LaunchOptions } from "./launch.ts";

/** An agent that runs inside this process: the mock and the builtin agent. It speaks and hears lines like any other. */
export interface InProcessAgent {
  readonly open: (host: InProcessHost) => InProcessPeer;
  /** Whether it could reach a model; absent when its adapter's `credentials` say it all. */
  readonly hasCredentials?: () => boolean;
  /** Its models, where they follow from its settings and the adapter has no list. */
  readonly models?: () => OfferedModels;
}

export interface OfferedModels {
  readonly models: readonly ModelSummary[];
  readonly defaultModel?: string;
}

/** A program to start. */
export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly directory: string;
  /** The folders in which the command is looked for, as in PATH. */
  readonly path: string | undefined;
}

/** How the program is started so that it does not see the host's own files. */
export interface StartInView extends ProgramStart {
  /** The started process is the parent of the program, and ends after it with its exit code. */
  readonly wrapped: boolean;
}

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
  /** Keeps the host's own files, such as its token, from the agent; absent where there are none. */
  readonly view?: {
    readonly start: (program: ProgramStart) => Promise<StartInView>;
    /** Whether a path is one of these files. It must be free of links. */
    readonly hides: (path: string) => boolean;
  };
}

/** The part of `AbortSignal` that pure code may name. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly addEventListener: (type: "abort", callback: () => void) => void;
  readonly removeEventListener: (type: "abort", callback: () => void) => void;
}

export interface InProcessPeer {
  readonly receive: (line: unknown) => void;
}

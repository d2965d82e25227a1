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
  readonly addEventListener: (type: "abort", callback: () => void) => void;
  readonly removeEventListener: (type: "abort", callback: () => void) => void;
}

export interface InProcessPeer {
  readonly receive: (line: unknown) => void;
}

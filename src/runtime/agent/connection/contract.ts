/** A way to an agent, whatever it is made of: a process with pipes, a server with HTTP and SSE, or a function here. */
import type { Exit, Send } from "../../../core/agent-io.ts";
import type { LaunchOptions } from "../../../core/launch.ts";
import type { SessionId } from "../../../protocol/ids.ts";
import type { Logger } from "../../logger.ts";
import type { SessionView } from "../file-view.ts";
import type { Rung } from "../process-tree.ts";

/** What comes from an agent. `text` is the line as it was written, to be stored without being encoded again. */
export type Heard =
  /** Lines as they were written, with "\n" between them, not parsed yet. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "line"; readonly value: unknown; readonly text: string }
  | { readonly type: "unreadable"; readonly text: string; readonly error: string }
  | { readonly type: "response"; readonly id: string; readonly status: number; readonly body: unknown }
  /** Once, and nothing after it. */
  | { readonly type: "disconnected"; readonly exit: Exit };

export interface Receiver {
  /** False when the receiver is behind: the connection pauses until `resume` is called. */
  readonly receive: (heard: Heard) => boolean;
}

export interface Connection {
  /** Of a server: where it is, and what a request needs to be let in. */
  readonly address?: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Answers to requests go to `asker`, where several share the connection. */
  readonly perform: (send: Send, asker?: Receiver) => void;
  readonly resume: () => void;
  /** Ends it, by the ladder where there are processes. `disconnected` has been heard when this resolves. */
  readonly stop: (ladder?: readonly Rung[]) => Promise<void>;
}

/** Which process trees were started, written down before and after, so that none is ever left behind. */
export interface Runs {
  readonly begin: (session: SessionId) => Promise<string>;
  readonly started: (runId: string, leader: { readonly pid: number; readonly started: string }) => void;
  readonly ended: (runId: string) => void;
}

/** What a connection needs to be opened. */
export interface Opening {
  readonly session: SessionId;
  readonly options: LaunchOptions;
  readonly receiver: Receiver;
  readonly environmentFor: (run: {
    readonly runId: string;
    readonly launch: Readonly<Record<string, string>>;
  }) => Readonly<Record<string, string>>;
  readonly runs: Runs;
  /** The view of the file system in which its processes run; absent: that of the user. */
  readonly view?: SessionView;
  /** Our own data, which no agent reads through us; absent when there is none on disk. */
  readonly dataFolder?: string | null;
  readonly ladder: readonly Rung[];
  readonly logger: Logger;
}

/** The connection just ended; nobody is to blame. */
export const noExit: Exit = { code: null, signal: null };

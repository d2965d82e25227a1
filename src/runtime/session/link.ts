/** A session's way to its agent: opened when the machine asks, ended when it asks, one after the other. */
import type { Adapter } from "../../core/adapter.ts";
import type { Exit, Send } from "../../core/agent-io.ts";
import type { SessionInput } from "../../core/input.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import { ApiError } from "../../protocol/errors.ts";
import { type Connection, type Heard, type Listener, noExit, type Opening } from "../agent/connection/contract.ts";
import { openHttp, ServerExit } from "../agent/connection/http.ts";
import { openInProcess } from "../agent/connection/in-process.ts";
import { openPipe } from "../agent/connection/pipe.ts";
import { type Pool, type SharedConnection, sharingKey } from "../agent/connection/shared.ts";
import { type Rung, SWEEP_LADDER } from "../agent/process-tree.ts";
import type { InProcessTable } from "../options.ts";

/** How much of an agent's refusal is told. */
const EXCERPT_LENGTH = 500;

export interface LinkOptions extends Omit<Opening, "listener" | "options"> {
  readonly adapter: Adapter;
  readonly inProcess: InProcessTable;
  readonly pool: Pool;
  readonly feed: (input: SessionInput) => void;
  /** Lines and responses; false when the session is behind. */
  readonly hear: (heard: Exclude<Heard, { type: "disconnected" }>) => boolean;
}

export interface Link {
  readonly connect: (options: LaunchOptions) => void;
  readonly perform: (send: Send) => void;
  readonly resume: () => void;
  /** The machine wants it gone. `quiet`: its turn is over, so what the dying agent still says is for nobody. */
  readonly stop: (options: { readonly quiet: boolean }) => void;
  /** Nobody needs it: ends it without hurry. The session hears of it unless `unheard`. */
  readonly end: (options: { readonly unheard: boolean }) => Promise<void>;
  readonly own: (thread: string) => void;
  readonly isOpen: () => boolean;
  readonly isShared: () => boolean;
}

interface Current {
  readonly connection: Connection;
  readonly shared: SharedConnection | null;
  /** The session has let go of it: whatever still comes is for nobody. */
  dropped: boolean;
}

interface State {
  current: Current | null;
  /** Stops and starts follow each other: the next waits for the one before. */
  chain: Promise<void>;
  /** Grows with every stop, so that a connection that was being opened knows that it is not wanted any more. */
  generation: number;
  quiet: boolean;
  unheard: boolean;
  /** The machine asked for the end and has not heard of it yet. */
  awaited: boolean;
  /** Requests without which the session cannot go on. */
  readonly vital: Set<string>;
}

export function openLink(options: LinkOptions): Link {
  const state: State = {
    current: null,
    chain: Promise.resolve(),
    generation: 0,
    quiet: false,
    unheard: false,
    awaited: false,
    vital: new Set(),
  };
  const next = (work: () => Promise<void>): Promise<void> => {
    state.chain = state.chain.then(work).catch((error: unknown) => {
      options.logger.error("link.failed", { session: options.session, error });
    });
    return state.chain;
  };
  const close = (ladder?: readonly Rung[], kill = false): Promise<void> => {
    state.generation += 1;
    return next(() => closeCurrent(state, { options, ladder, kill }));
  };
  return {
    connect(launchOptions) {
      const { generation } = state;
      void next(() => connect(state, { options, launchOptions, generation }));
    },
    perform(send) {
      if (send.type === "send.request" && send.vital === true) state.vital.add(send.id);
      state.current?.connection.perform(send);
    },
    resume: () => state.current?.connection.resume(),
    stop({ quiet }) {
      state.quiet = quiet;
      state.awaited = true;
      // An agent that did not obey is ended even if others share it: "stop" means stop.
      void close(undefined, !quiet);
    },
    end({ unheard }) {
      state.unheard = unheard;
      state.quiet = unheard;
      return close(SWEEP_LADDER);
    },
    own: (thread) => state.current?.shared?.own(thread),
    isOpen: () => state.current !== null,
    isShared: () => state.current?.shared !== null && state.current !== null,
  };
}

interface Connecting {
  readonly options: LinkOptions;
  readonly launchOptions: LaunchOptions;
  readonly generation: number;
}

async function connect(state: State, { options, launchOptions, generation }: Connecting): Promise<void> {
  if (generation !== state.generation) return;
  state.quiet = false;
  state.vital.clear();
  const early: Heard[] = [];
  let current: Current | null = null;
  const listener: Listener = {
    hear(heard) {
      if (current !== null) return receive(state, { options, heard, current });
      early.push(heard);
      return true;
    },
  };
  let opened: Opened;
  try {
    opened = await open({ options, launchOptions, listener });
  } catch (error) {
    if (generation === state.generation) disconnected(state, { options, exit: exitOf(error) });
    return;
  }
  state.current = opened;
  // A stop that came meanwhile is next in line and ends it.
  if (generation === state.generation) {
    options.feed({ type: "connected", first: opened.first, options: launchOptions, at: Date.now() });
  } else state.quiet = true;
  current = opened;
  for (const heard of early) receive(state, { options, heard, current });
}

interface Opened extends Current {
  readonly first: boolean;
}

async function open({
  options,
  launchOptions,
  listener,
}: Omit<Connecting, "generation"> & { readonly listener: Listener }): Promise<Opened> {
  const { adapter, pool, session, logger } = options;
  const launch = adapter.launch(launchOptions);
  const key = sharingKey({ agent: adapter.agent, launch, env: launchOptions.env });
  const openFor = (heard: Listener): Promise<Connection> =>
    openLaunch(launch, { ...options, options: launchOptions, listener: heard }, options.inProcess);
  if (key === null) return { connection: await openFor(listener), shared: null, dropped: false, first: true };
  const thread = launchOptions.fork ? null : launchOptions.resume;
  const joined = await pool.join({ session, adapter, key, listener, thread, open: openFor, logger });
  return { connection: joined.connection, shared: joined.connection, dropped: false, first: joined.first };
}

function openLaunch(launch: Launch, opening: Opening, inProcess: InProcessTable): Promise<Connection> {
  switch (launch.kind) {
    case "process":
      return openPipe(launch, opening);
    case "http":
      return openHttp(launch, opening);
    case "in-process": {
      const agent = inProcess[launch.agent];
      if (agent !== undefined) return openInProcess(agent, opening);
      throw new ApiError("agent_not_installed", `This Franca has no ${launch.agent} agent inside.`);
    }
    case "refused":
      throw new ApiError(launch.code, launch.message);
  }
}

function exitOf(error: unknown): Exit {
  if (error instanceof ServerExit) return { ...error.exit, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { ...noExit, message, error_code: error instanceof ApiError ? error.code : "stream_error" };
}

interface Receiving<H extends Heard> {
  readonly options: LinkOptions;
  readonly heard: H;
  readonly current: Current;
}

function receive(state: State, { options, heard, current }: Receiving<Heard>): boolean {
  if (current.dropped) return true;
  if (heard.type === "disconnected") {
    current.dropped = true;
    state.current = null;
    disconnected(state, { options, exit: heard.exit });
    return true;
  }
  if (state.quiet) return true;
  const keepsUp = options.hear(heard);
  if (heard.type === "response" && state.vital.delete(heard.id) && (heard.status === 0 || heard.status >= 400)) {
    refuse(state, { options, heard, current });
  }
  return keepsUp;
}

/** The session cannot be had from this agent: for it the connection is over, whoever else uses it. */
function refuse(state: State, { options, heard, current }: Receiving<Extract<Heard, { type: "response" }>>): void {
  const { status, body } = heard;
  const excerpt = (JSON.stringify(body) ?? "").slice(0, EXCERPT_LENGTH);
  const message = `The agent did not give the session: ${status === 0 ? "no answer" : `status ${status}`} ${excerpt}`;
  current.dropped = true;
  state.current = null;
  disconnected(state, { options, exit: { ...noExit, message, error_code: "stream_error" } });
  state.chain = state.chain.then(() => leave(current, SWEEP_LADDER));
}

const leave = ({ shared, connection }: Current, ladder: readonly Rung[] | undefined): Promise<void> =>
  shared === null ? connection.stop(ladder) : shared.leave(ladder);

function disconnected(state: State, { options, exit }: { options: LinkOptions; exit: Exit }): void {
  const { unheard } = state;
  state.unheard = false;
  state.awaited = false;
  if (!unheard) options.feed({ type: "disconnected", exit, at: Date.now() });
}

interface ClosingLink {
  readonly options: LinkOptions;
  readonly ladder: readonly Rung[] | undefined;
  /** End the connection itself, even if it is shared. */
  readonly kill: boolean;
}

async function closeCurrent(state: State, { options, ladder, kill }: ClosingLink): Promise<void> {
  const { current } = state;
  if (current === null) {
    // There was none any more, or none yet: the machine waits to hear so.
    if (state.awaited) disconnected(state, { options, exit: noExit });
    state.unheard = false;
    return;
  }
  if (current.shared === null || kill) return current.connection.stop(ladder);
  current.dropped = true;
  state.current = null;
  await current.shared.leave(ladder);
  disconnected(state, { options, exit: noExit });
}

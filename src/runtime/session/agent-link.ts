/** The link from a session to its agent: connected and stopped when the turn machine asks, one after the other. */
import type { Adapter } from "../../core/adapter.ts";
import type { Exit, Send } from "../../core/agent-io.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import { ApiError } from "../../protocol/errors.ts";
import { type Connection, type Heard, noExit, type Opening, type Receiver } from "../agent/connection/contract.ts";
import { openHttp, ServerExit } from "../agent/connection/http.ts";
import { openInProcess } from "../agent/connection/in-process.ts";
import { openPipe } from "../agent/connection/pipe.ts";
import { type Pool, type SharedConnection, sharingKey } from "../agent/connection/shared.ts";
import { fullView, type SessionView } from "../agent/file-view.ts";
import { type Rung, SWEEP_LADDER } from "../agent/process-tree.ts";
import type { InProcessTable } from "../options.ts";
import type { UntimedInput } from "./writer-inputs.ts";

/** How much of an agent's refusal is reported. */
const EXCERPT_LENGTH = 500;

export interface AgentLinkOptions extends Omit<Opening, "receiver" | "options" | "view"> {
  /** The view of the file system for a process of this session, or for one that several sessions share. */
  readonly view?: (process: { readonly shared: boolean }) => SessionView;
  readonly adapter: Adapter;
  readonly inProcess: InProcessTable;
  readonly pool: Pool;
  /** Throws where the agent cannot be started with what this host has. */
  readonly check: () => void;
  readonly feed: (input: UntimedInput) => void;
  /** Lines and responses; false when the session is behind. */
  readonly receive: (heard: Exclude<Heard, { type: "disconnected" }>) => boolean;
}

export interface AgentLink {
  readonly connect: (options: LaunchOptions) => void;
  readonly perform: (send: Send) => void;
  readonly resume: () => void;
  /** The turn machine stops the agent. `turnOver`: its last lines are ignored, since no turn is open. */
  readonly stop: (options: { readonly turnOver: boolean }) => void;
  /** Stops the agent gently. The session gets no further input from it, not even that it disconnected. */
  readonly stopSilently: () => Promise<void>;
  /** The same, step by step as the turn machine would, for a session that ends; resolves with how its agent ended. */
  readonly end: () => Promise<Exit | null>;
  /** On a shared connection, the native session whose lines belong to this session. */
  readonly own: (nativeSession: string) => void;
  readonly isOpen: () => boolean;
  readonly isShared: () => boolean;
  /** The agent is a function of this process: to connect it again costs next to nothing. */
  readonly isInProcess: () => boolean;
}

interface Current {
  readonly connection: Connection;
  readonly shared: SharedConnection | null;
  readonly inProcess: boolean;
  /** The session does not use it any more: whatever still comes is ignored. */
  dropped: boolean;
}

interface State {
  current: Current | null;
  /** Stops and starts follow each other: the next waits for the one before. */
  chain: Promise<void>;
  /** Grows with every start and stop: a connection that was being opened meanwhile is stopped as soon as it is open. */
  generation: number;
  /** Lines and responses are ignored. */
  ignoresInput: boolean;
  /** The next `disconnected` is not passed on. */
  ignoresExit: boolean;
  /** The turn machine has asked for a stop and waits for `disconnected`. */
  awaitsExit: boolean;
  /** How the last connection ended. */
  exit: Exit | null;
  /** Requests without which the session cannot go on. */
  readonly vital: Set<string>;
}

export function openAgentLink(options: AgentLinkOptions): AgentLink {
  const state: State = {
    current: null,
    chain: Promise.resolve(),
    generation: 0,
    ignoresInput: false,
    ignoresExit: false,
    awaitsExit: false,
    exit: null,
    vital: new Set(),
  };
  const next = (work: () => Promise<void>): Promise<void> => {
    state.chain = state.chain.then(work).catch((error: unknown) => {
      options.logger.error("link.failed", { session: options.session, error });
    });
    return state.chain;
  };
  const stop = (ladder?: readonly Rung[], kill = false): Promise<void> => {
    state.generation += 1;
    return next(() => stopCurrent(state, { options, ladder, kill }));
  };
  return {
    connect(launchOptions) {
      state.generation += 1;
      const { generation } = state;
      void next(() => connect(state, { options, launchOptions, generation }));
    },
    perform(send) {
      if (send.type === "send.request" && send.vital === true) state.vital.add(send.id);
      state.current?.connection.perform(send);
    },
    resume: () => state.current?.connection.resume(),
    stop({ turnOver }) {
      state.ignoresInput = turnOver;
      state.awaitsExit = true;
      // An agent that did not obey an abort is stopped even if other sessions share it.
      void stop(undefined, !turnOver);
    },
    stopSilently() {
      state.ignoresExit = true;
      state.ignoresInput = true;
      return stop(SWEEP_LADDER);
    },
    async end() {
      state.ignoresExit = true;
      state.ignoresInput = true;
      await stop();
      return state.exit;
    },
    own: (nativeSession) => state.current?.shared?.own(nativeSession),
    isOpen: () => state.current !== null,
    isShared: () => state.current?.shared !== null && state.current !== null,
    isInProcess: () => state.current?.inProcess === true,
  };
}

interface Connecting {
  readonly options: AgentLinkOptions;
  readonly launchOptions: LaunchOptions;
  readonly generation: number;
}

async function connect(state: State, { options, launchOptions, generation }: Connecting): Promise<void> {
  if (generation !== state.generation) return;
  await leaveFormer(state);
  state.ignoresInput = false;
  state.exit = null;
  state.vital.clear();
  const early: Heard[] = [];
  let current: Current | null = null;
  const receiver: Receiver = {
    receive(heard) {
      if (current !== null) return receive(state, { options, heard, current });
      early.push(heard);
      return true;
    },
  };
  let opened: Opened;
  try {
    opened = await open({ options, launchOptions, receiver });
  } catch (error) {
    if (generation === state.generation) disconnected(state, { options, exit: exitOf(error) });
    return;
  }
  state.current = opened;
  // What came meanwhile, a stop or another start, runs next and stops it.
  if (generation === state.generation) {
    options.feed({ type: "connected", first: opened.first, options: launchOptions });
  } else state.ignoresInput = true;
  current = opened;
  for (const heard of early) receive(state, { options, heard, current });
}

/**
 * A session has one agent: one that the turn machine takes for gone is stopped before the next is started. It is still
 * there when a stop was reported twice, as by two aborts while nothing could be stored.
 */
async function leaveFormer(state: State): Promise<void> {
  const { current } = state;
  if (current === null) return;
  current.dropped = true;
  state.current = null;
  await leave(current, SWEEP_LADDER);
}

interface Opened extends Current {
  readonly first: boolean;
}

async function open({
  options,
  launchOptions,
  receiver,
}: Omit<Connecting, "generation"> & { readonly receiver: Receiver }): Promise<Opened> {
  const { adapter, pool, session, logger } = options;
  options.check();
  const launch = adapter.launch(launchOptions);
  const inProcess = launch.kind === "in-process";
  const key = sharingKey({ agent: adapter.agent, launch, env: launchOptions.env });
  const view = options.view?.({ shared: key !== null }) ?? fullView;
  const openFor = (to: Receiver): Promise<Connection> =>
    openLaunch(launch, { ...options, view, options: launchOptions, receiver: to }, options.inProcess);
  if (key === null)
    return { connection: await openFor(receiver), shared: null, inProcess, dropped: false, first: true };
  const thread = launchOptions.fork ? null : launchOptions.resume;
  const joined = await pool.join({ session, adapter, key, receiver, thread, open: openFor, logger });
  return { connection: joined.connection, shared: joined.connection, inProcess, dropped: false, first: joined.first };
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
  readonly options: AgentLinkOptions;
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
  if (state.ignoresInput) return true;
  const keepsUp = options.receive(heard);
  if (heard.type === "response" && state.vital.delete(heard.id) && (heard.status === 0 || heard.status >= 400)) {
    refuse(state, { options, heard, current });
  }
  return keepsUp;
}

/** The agent refuses the session: the session is disconnected, while others keep a shared connection. */
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

function disconnected(state: State, { options, exit }: { options: AgentLinkOptions; exit: Exit }): void {
  const { ignoresExit } = state;
  state.ignoresExit = false;
  state.awaitsExit = false;
  state.exit = exit;
  if (!ignoresExit) options.feed({ type: "disconnected", exit });
}

interface Stopping {
  readonly options: AgentLinkOptions;
  readonly ladder: readonly Rung[] | undefined;
  /** Stop the connection itself, even if it is shared. */
  readonly kill: boolean;
}

async function stopCurrent(state: State, { options, ladder, kill }: Stopping): Promise<void> {
  const { current } = state;
  if (current === null) {
    // There was none any more, or none yet, and the turn machine still waits for the exit.
    if (state.awaitsExit) disconnected(state, { options, exit: noExit });
    state.ignoresExit = false;
    return;
  }
  if (current.shared === null || kill) return current.connection.stop(ladder);
  current.dropped = true;
  state.current = null;
  await current.shared.leave(ladder);
  disconnected(state, { options, exit: noExit });
}

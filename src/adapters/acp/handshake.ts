/** From a fresh connection to a session that takes prompts: initialize; new, load, resume or fork; settings. */
import { ACP_VERSION, AUTH_REQUIRED } from "../../core/acp.ts";
import type { AdapterInput, Exit, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import type { LaunchOptions, McpServer } from "../../core/launch.ts";
import type { Report } from "../../core/report.ts";
import type { RpcFailure } from "../../core/rpc.ts";
import { isNumber, isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { ask, INITIALIZE_TIMEOUT_MS } from "./ask.ts";
import { applySettings, modeIn, modelIn } from "./config.ts";
import { offered } from "./host.ts";
import type { Quirks } from "./quirks.ts";
import { addThread, isLive, type State, start } from "./state.ts";
import { failureInfo } from "./turns.ts";

type Connected = Extract<AdapterInput<unknown>, { type: "connected" }>;

interface Known {
  readonly quirks: Quirks;
  readonly command: string;
  /** Variables that hold its credentials. */
  readonly keys: readonly string[];
}

export function onConnected(state: State, { quirks, command, keys }: Known, { options, at }: Connected): Send[] {
  Object.assign(state, { ...start(quirks), at, turnAt: at, options, command, keys, phase: "initializing" });
  state.rpc.prefix = `${options.session_id}:`;
  return [
    ask(state, {
      method: "initialize",
      params: wantsVersion2(quirks, options) ? greeting2 : greeting(state),
      context: { type: "initialize" },
      timeoutMs: INITIALIZE_TIMEOUT_MS,
    }),
  ];
}

/** A session may ask for the draft of version 2 in its environment. An agent that has only 1 answers 1. */
export const VERSION_VARIABLE = "FRANCA_ACP_VERSION";

const wantsVersion2 = ({ version }: Quirks, { env }: LaunchOptions): boolean =>
  (env[VERSION_VARIABLE] ?? String(version ?? ACP_VERSION)) === "2";

const info = { name: "franca", title: "Franca", version: "0.1.0" };

function greeting(state: State): unknown {
  const { files, terminal } = offered(state);
  return {
    protocolVersion: ACP_VERSION,
    clientCapabilities: {
      fs: { readTextFile: files, writeTextFile: files },
      terminal,
      session: { compaction: {}, notices: {}, configOptions: {} },
      elicitation: { form: {}, url: {} },
      _meta: { terminal_output: true },
    },
    clientInfo: info,
  };
}

const greeting2 = { protocolVersion: 2, info, capabilities: { elicitation: { form: {}, url: {} } } };

export function onInitialized(state: State, result: unknown): Send[] {
  learnAgent(state, result);
  return isLive(state) ? openSession(state) : [];
}

/** What the agent says about itself, in either version. */
export function learnAgent(state: State, result: unknown): void {
  state.agent = shapeOf(result);
  const { protocolVersion } = state.agent;
  state.version = isNumber(protocolVersion) ? protocolVersion : 1;
}

export const agentInfo = ({ agent }: State): Shape => shapeOf(agent.agentInfo ?? agent.info);

/** What the agent can do with sessions. */
export function abilities({ agent }: State): Shape & { readonly loads: boolean } {
  const { loadSession, sessionCapabilities } = shapeOf(agent.agentCapabilities);
  const session = sessionCapabilities ?? shapeOf(agent.capabilities).session;
  return { ...shapeOf(session), loads: loadSession === true };
}

export function prompts({ agent }: State): Shape {
  const { promptCapabilities } = shapeOf(agent.agentCapabilities);
  return shapeOf(promptCapabilities ?? shapeOf(shapeOf(agent.capabilities).session).prompt);
}

/** What the agent has said of itself, in the words of our own table; an object, even an empty one, means yes. */
function capabilities(state: State): Record<string, boolean> {
  const { loads, resume, fork } = abilities(state);
  const can = (ability: unknown): boolean => isShape(ability) || ability === true;
  return { resume: loads || can(resume) || state.version === 2, fork: can(fork), images: can(prompts(state).image) };
}

export function openSession(state: State): Send[] {
  const { options } = state;
  if (options === null) return [];
  state.phase = "opening";
  const params = { cwd: options.folder?.path ?? options.directory, mcpServers: serversOf(options, state.version) };
  const { resume } = options;
  if (resume === null) {
    const context = { type: "open", drops: false, session: null } as const;
    return [ask(state, { method: "session/new", params, context })];
  }
  const { method, drops } = wayBack(state, options);
  const session = options.fork ? null : resume;
  if (session !== null) own(state, session);
  return [ask(state, { method, params: { ...params, sessionId: resume }, context: { type: "open", drops, session } })];
}

/** `resume` repeats nothing; `load` repeats the past, which we have. */
function wayBack(state: State, { fork }: LaunchOptions): { method: string; drops: boolean } {
  const can = abilities(state);
  if (fork) return { method: "session/fork", drops: true };
  const resumes = (can.resume !== undefined && can.resume !== null) || state.version === 2;
  return resumes ? { method: "session/resume", drops: state.version !== 2 } : { method: "session/load", drops: true };
}

export function own(state: State, session: string): void {
  state.session = session;
  if (!state.threads.has(session)) addThread(state, { id: session, subagent: null });
}

function serversOf({ mcp }: LaunchOptions, version: number): unknown[] {
  return Object.entries(mcp).map(([name, server]) => serverOf(name, server, version));
}

const pairs = (record: Readonly<Record<string, string>> = {}) =>
  Object.entries(record).map(([name, value]) => ({ name, value }));

function serverOf(name: string, { command, args, env, url, headers }: McpServer, version: number): unknown {
  if (url !== undefined) return { type: "http", name, url, headers: pairs(headers) };
  const stdio = { name, command: command ?? "", args: args ?? [], env: pairs(env) };
  return version === 2 ? { type: "stdio", ...stdio } : stdio;
}

/** The session is there: it is announced, set as asked, and takes what has waited for it. */
export function onOpened(
  state: State,
  { session, result }: { session: string | null; result: Shape },
): (Report | Send)[] {
  const id = isString(result.sessionId) ? result.sessionId : session;
  if (id === null) return [];
  own(state, id);
  state.opened = result;
  const announced = announce(state, id);
  if (!isLive(state)) return announced;
  state.phase = "ready";
  return [...announced, ...applySettings(state)];
}

function announce(state: State, id: string): Report[] {
  const { version } = agentInfo(state);
  const { options } = state;
  const metadata = {
    agent_version: isString(version) ? version : null,
    model: modelIn(state.opened),
    directory: options?.directory ?? null,
    capabilities: capabilities(state),
    ...defined({ commands: state.commands ?? undefined }),
  };
  const mode = modeIn(state.opened);
  return [{ type: "session", native_session_id: id, metadata, ...defined({ mode: mode ?? undefined }) }];
}

const STDERR_SHOWN = 600;

type Explanation = Pick<Exit, "message" | "error_code">;

/** It ended before it answered `initialize`, or was stopped because it did not: its command and its words are named. */
export function explain({ phase, command }: State, { code, signal, message, stderr }: Exit): Explanation | null {
  // An exit with a message has its reason already: the program is missing, for example.
  if ((phase !== "initializing" && phase !== "overdue") || message !== undefined) return null;
  const how = signal === null ? `with code ${code}` : `by signal ${signal}`;
  const what =
    phase === "overdue"
      ? `has not answered initialize within ${INITIALIZE_TIMEOUT_MS / 1_000} s`
      : `ended ${how} before it answered initialize`;
  const said = stderr === undefined ? "" : ` Its stderr: ${(stderr.tail || stderr.head).trim().slice(-STDERR_SHOWN)}`;
  return {
    message: `${command} ${what}: it may be no ACP agent.${said}`,
    error_code: phase === "overdue" ? "timeout" : "agent_exited",
  };
}

export function onOpenFailed(state: State, failure: RpcFailure): (Report | Send)[] {
  if (!isLive(state)) return failure.kind === "closed" ? [] : [openError(state, failure, false)];
  if (failure.kind === "timeout" && state.phase === "initializing") {
    state.phase = "overdue";
    return [{ type: "send.signal", signal: "kill" }];
  }
  const waited = state.waiting.length > 0;
  state.waiting = [];
  state.phase = "failed";
  if (failure.kind === "closed") return [];
  const error = openError(state, failure, true);
  if (failure.kind === "timeout") return [error, { type: "send.signal", signal: "kill" }];
  const { message, code, details } = error;
  return waited
    ? [error, { type: "end", reason: "error", error: { message, code, details: details ?? null } }]
    : [error];
}

function openError(state: State, failure: RpcFailure, fatal: boolean): Extract<Report, { type: "error" }> {
  const info = failureInfo(failure);
  if (failure.kind === "timeout") {
    const message = `${state.command} has not answered: ${failure.message}.`;
    return { type: "error", message, code: "timeout", fatal };
  }
  if (failure.code !== AUTH_REQUIRED) return { type: "error", ...info, fatal };
  return { type: "error", ...info, message: `${info.message} ${loginAdvice(state)}`.trim(), fatal };
}

/** What a person does to log in: what to run, which key to set, else the agent's own words for it. */
function loginAdvice({ agent, command, keys }: State): string {
  const named = Array.isArray(agent.authMethods) ? agent.authMethods.map(shapeOf) : [];
  const ways = named.flatMap((method) => {
    const way = loginWay(method, command);
    return way === null ? [] : [way];
  });
  const set = keys.length === 0 ? [] : [`set ${keys.join(" or ")}`];
  const all = [...new Set([...set, ...ways])];
  return all.length === 0 ? "Log in with the agent itself first." : `To log in: ${all.join("; or ")}.`;
}

/** A method for terminals is the agent's own command with more words, or a command of its own. */
function loginWay({ type, args, name, description, _meta }: Shape, command: string): string | null {
  const own = shapeOf(shapeOf(_meta)["terminal-auth"]);
  const words = (list: unknown): string => (Array.isArray(list) ? list.filter(isString) : []).join(" ");
  const label = isString(name) && name !== "" ? ` (${name})` : "";
  if (isString(own.command)) return `run \`${`${own.command} ${words(own.args)}`.trim()}\`${label}`;
  if (type === "terminal" && command !== "") return `run \`${`${command} ${words(args)}`.trim()}\`${label}`;
  return [description, name].filter(isString).find((text) => text !== "") ?? null;
}

/** Franca as an ACP agent: requests of a client, one connection, any number of sessions. */
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import { ACP_VERSION, AUTH_REQUIRED, INTERNAL_ERROR, RESOURCE_NOT_FOUND } from "../core/acp.ts";
import { defined } from "../core/defined.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../core/rpc.ts";
import { isShape, isString, type Shape, shapeOf } from "../dialects/shape.ts";
import { type ClientAbilities, commandsUpdate, updateLine } from "../projections/acp/index.ts";
import { ApiError } from "../protocol/errors.ts";
import type { CreateSession, SessionDetail } from "../protocol/resources.ts";
import { PermissionMode } from "../protocol/session-enums.ts";
import { version } from "../server/version.ts";
import { promptOf, serversOf } from "./acp-prompt.ts";
import { type AcpSession, openAcpSession, type RpcId } from "./acp-session.ts";
import type { Door } from "./door.ts";

export interface AcpAgentOptions {
  readonly door: Door;
  /** For new sessions. */
  readonly agent: string;
  readonly defaults: Pick<CreateSession, "model" | "permissionMode">;
  readonly write: (line: unknown) => void;
  readonly onProblem: (error: unknown) => void;
}

export interface AcpAgent {
  /** One line of the client. */
  readonly hear: (text: string) => void;
  readonly close: () => void;
}

/** A refusal that the client is to see. */
class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

interface State extends AcpAgentOptions {
  readonly sessions: Map<string, AcpSession>;
  abilities: Partial<ClientAbilities>;
}

const PARSE_ERROR = -32700;

export function openAcpAgent(options: AcpAgentOptions): AcpAgent {
  const state: State = { ...options, sessions: new Map(), abilities: {} };
  return {
    hear(text) {
      if (text.trim() === "") return;
      const line = parsed(text);
      if (line === null) {
        return options.write({
          jsonrpc: "2.0",
          id: null,
          error: { code: PARSE_ERROR, message: "Not a line of JSON." },
        });
      }
      void onLine(state, line).catch(options.onProblem);
    },
    close() {
      for (const session of state.sessions.values()) session.close();
    },
  };
}

function parsed(text: string): Shape | null {
  try {
    const value: unknown = JSON.parse(text);
    return isShape(value) ? value : null;
  } catch {
    return null;
  }
}

async function onLine(state: State, { id, method, params, result, error }: Shape): Promise<void> {
  if (!isString(method)) return onAnswer(state, { id, result: error === undefined ? result : undefined });
  const fields = shapeOf(params);
  if (!isString(id) && typeof id !== "number") return onNotification(state, method, fields);
  try {
    const answer = await onRequest(state, { id, method, params: fields });
    if (answer !== null) state.write({ jsonrpc: "2.0", id, result: answer });
  } catch (problem) {
    state.write({ jsonrpc: "2.0", id, error: errorOf(problem) });
  }
}

function onAnswer(state: State, { id, result }: { id: unknown; result: unknown }): void {
  if (!isString(id)) return;
  for (const session of state.sessions.values()) if (session.answered(id, result)) return;
}

async function onNotification(state: State, method: string, { sessionId }: Shape): Promise<void> {
  if (method === "session/cancel" && isString(sessionId)) await state.sessions.get(sessionId)?.cancel();
}

function errorOf(problem: unknown): { code: number; message: string; data?: unknown } {
  if (problem instanceof Refusal) return { code: problem.code, message: problem.message };
  const message = problem instanceof Error ? problem.message : String(problem);
  if (!(problem instanceof ApiError)) return { code: INTERNAL_ERROR, message };
  const code = codes.get(problem.code) ?? INTERNAL_ERROR;
  return { code, message, data: { code: problem.code } };
}

const codes: ReadonlyMap<string, number> = new Map([
  ["session_not_found", RESOURCE_NOT_FOUND],
  ["directory_not_found", INVALID_PARAMS],
  ["invalid_request", INVALID_PARAMS],
  ["mode_not_supported", INVALID_PARAMS],
  ["token_invalid", AUTH_REQUIRED],
]);

interface Incoming {
  readonly id: RpcId;
  readonly method: string;
  readonly params: Shape;
}

/** Null: the answer comes later. */
async function onRequest(state: State, { id, method, params }: Incoming): Promise<unknown> {
  switch (method) {
    case "initialize":
      return initialize(state, params);
    case "authenticate":
      return {};
    case "session/new":
      return create(state, params);
    case "session/load":
      return load(state, params, "load");
    case "session/resume":
      return load(state, params, "resume");
    case "session/fork":
      return fork(state, params);
    case "session/list":
      return list(state, params);
    case "session/prompt":
      await sessionOf(state, params).prompt(id, promptOf(params.prompt));
      return null;
    case "session/set_mode":
      await setMode(state, params);
      return {};
    case "session/set_config_option":
      return setOption(state, params);
    case "session/close":
      return close(state, params);
    default:
      throw new Refusal(METHOD_NOT_FOUND, `There is no ${method}.`);
  }
}

async function initialize(state: State, { clientCapabilities }: Shape): Promise<unknown> {
  const { elicitation, session } = shapeOf(clientCapabilities);
  const { notices, compaction } = shapeOf(session);
  state.abilities = {
    elicitation: isShape(shapeOf(elicitation).form),
    notices: isShape(notices),
    compaction: isShape(compaction),
  };
  const agents = await state.door.agents();
  const forks = agents.find(({ id }) => id === state.agent)?.capabilities.fork === true;
  return {
    protocolVersion: ACP_VERSION,
    agentInfo: { name: "franca", title: "Franca", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { list: {}, resume: {}, close: {}, ...(forks ? { fork: {} } : {}) },
    },
    authMethods: [],
  };
}

function directoryOf({ cwd }: Shape): string {
  if (isString(cwd) && isAbsolute(cwd)) return cwd;
  throw new Refusal(INVALID_PARAMS, "cwd must be an absolute path.");
}

async function create(state: State, params: Shape): Promise<unknown> {
  const { door, agent, defaults } = state;
  const id = randomUUID();
  const mcp = serversOf(params.mcpServers);
  const directory = directoryOf(params);
  const options = {
    agent,
    directory,
    env: door.sessionEnv,
    ...defaults,
    ...(Object.keys(mcp).length > 0 ? { mcp } : {}),
  };
  const { healthy, error } = await door.create(id, options);
  if (!healthy) throw new Refusal(INTERNAL_ERROR, error ?? `${agent} could not be started.`);
  await door.giveKeys(id, agent);
  return begun(state, id);
}

/** A conversation of its own that goes on from another's end. */
async function fork(state: State, params: Shape): Promise<unknown> {
  return begun(state, await state.door.fork(idOf(params)));
}

async function begun(state: State, id: string): Promise<unknown> {
  const session = open(state, id);
  const detail = await state.door.get(id);
  const answer = { sessionId: id, ...(await settingsOf(state, detail)) };
  // Updates follow the answer that names the session, never precede it.
  setImmediate(() => void session.open("new").catch(state.onProblem));
  return answer;
}

function open(state: State, id: string): AcpSession {
  const { door, write, onProblem, abilities } = state;
  state.sessions.get(id)?.close();
  const session = openAcpSession({ door, id, abilities, write, onProblem });
  state.sessions.set(id, session);
  return session;
}

async function load(state: State, params: Shape, how: "load" | "resume"): Promise<unknown> {
  const id = idOf(params);
  const detail = await state.door.get(id);
  await open(state, id).open(how);
  // The past has them; without it they are sent by themselves.
  const commands = how === "load" || detail.commands.length === 0 ? [] : commandsUpdate(detail.commands);
  setImmediate(() => {
    for (const update of commands) state.write(updateLine(id, update));
  });
  return settingsOf(state, detail);
}

function idOf({ sessionId }: Shape): string {
  if (isString(sessionId)) return sessionId;
  throw new Refusal(INVALID_PARAMS, "sessionId is missing.");
}

function sessionOf(state: State, params: Shape): AcpSession {
  const id = idOf(params);
  const session = state.sessions.get(id);
  if (session === undefined) throw new Refusal(RESOURCE_NOT_FOUND, `There is no open session ${id}; load it first.`);
  return session;
}

async function list({ door }: State, { cwd }: Shape): Promise<unknown> {
  const sessions = await door.list(isString(cwd) ? { directory: cwd } : {});
  return {
    sessions: sessions.map(({ sessionId, directory, title, updatedAt }) => ({
      sessionId,
      cwd: directory ?? "/",
      ...defined({ title: title ?? undefined }),
      updatedAt,
    })),
  };
}

async function close(state: State, params: Shape): Promise<unknown> {
  const session = sessionOf(state, params);
  await session.cancel();
  session.close();
  state.sessions.delete(idOf(params));
  return {};
}

const modeNames: Readonly<Record<PermissionMode, string>> = {
  default: "Ask",
  plan: "Plan",
  acceptEdits: "Accept edits",
  bypass: "Allow everything",
};

/** What needs asking is a mode; the model is an option. */
async function settingsOf({ door }: State, { agent, permissionMode, model }: SessionDetail): Promise<Shape> {
  const agents = await door.agents();
  const { permissionModes: known } = shapeOf(agents.find(({ id }) => id === agent)?.capabilities);
  const current = permissionMode ?? "default";
  const offered = PermissionMode.options.filter(
    (mode) => mode === current || (Array.isArray(known) && known.includes(mode)),
  );
  const { models, defaultModel } = await door.models(agent).catch(() => ({ models: [], defaultModel: undefined }));
  const chosen = model ?? defaultModel ?? models[0]?.id;
  const choices = models.map(({ id, name }) => ({ value: id, name: name ?? id }));
  const modelOption = {
    id: "model",
    name: "Model",
    category: "model",
    type: "select",
    currentValue: chosen,
    options: choices.some(({ value }) => value === chosen) ? choices : [{ value: chosen, name: chosen }, ...choices],
  };
  const modes = offered.map((id) => ({ id, name: modeNames[id] }));
  const modeOption = {
    id: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: current,
    options: modes.map(({ id, name }) => ({ value: id, name })),
  };
  return {
    modes: { currentModeId: current, availableModes: modes },
    configOptions: [modeOption, ...(chosen === undefined ? [] : [modelOption])],
  };
}

async function setMode(state: State, params: Shape): Promise<void> {
  sessionOf(state, params);
  const mode = PermissionMode.safeParse(params.modeId);
  if (!mode.success) throw new Refusal(INVALID_PARAMS, `There is no mode ${String(params.modeId)}.`);
  await state.door.update(idOf(params), { permissionMode: mode.data });
}

async function setOption(state: State, params: Shape): Promise<unknown> {
  const { configId, value } = params;
  if (configId === "mode") await setMode(state, { ...params, modeId: value });
  else if (configId === "model" && isString(value)) {
    sessionOf(state, params);
    await state.door.update(idOf(params), { model: value });
  } else throw new Refusal(INVALID_PARAMS, `There is no option ${String(configId)}.`);
  const { configOptions } = await settingsOf(state, await state.door.get(idOf(params)));
  return { configOptions };
}

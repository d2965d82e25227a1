/**
 * Files and terminals that an agent uses through us. Whether it may is decided here, by the session's permission mode
 * and by what a person has just allowed; the edge does it and keeps it inside the session's folder.
 */
import { INTERNAL_ERROR, RESOURCE_NOT_FOUND } from "../../core/acp.ts";
import type { AgentReply, Send } from "../../core/agent-io.ts";
import { type FilePlace, HOST_CALL, type HostCall } from "../../core/host-call.ts";
import type { PermissionReport, Report } from "../../core/report.ts";
import { answer, INVALID_PARAMS, METHOD_NOT_FOUND, type RpcId, refuse } from "../../core/rpc.ts";
import { isInteger, isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { RequestedAction } from "../../permissions/inspection.ts";
import { addOutput } from "./calls.ts";
import { commandGrant, isGranted, pathGrant } from "./grants.ts";
import { commandIn } from "./requested.ts";
import { type Asked, type Incoming, isLive, nextKey, type State } from "./state.ts";

const methods: ReadonlySet<string> = new Set([
  "fs/read_text_file",
  "fs/write_text_file",
  "terminal/create",
  "terminal/output",
  "terminal/wait_for_exit",
  "terminal/kill",
  "terminal/release",
]);

export const isHostMethod = (method: string): boolean => methods.has(method);

/** Variables of a session's environment that turn the client side off. */
export const FILES_VARIABLE = "FRANCA_ACP_FS";
export const TERMINAL_VARIABLE = "FRANCA_ACP_TERMINAL";

export interface Offered {
  readonly files: boolean;
  readonly terminal: boolean;
}

/** What the session lets its agent use through us. Nothing may change in plan mode. */
export function offered({ options }: State): Offered {
  const { env = {}, permission_mode } = options ?? {};
  return { files: isOn(env[FILES_VARIABLE]), terminal: isOn(env[TERMINAL_VARIABLE]) && permission_mode !== "plan" };
}

const isOn = (value: string | undefined): boolean => value !== "0" && value !== "false";

export function onHostRequest(state: State, incoming: Incoming): (Report | Send)[] {
  const asked: Asked = { ...incoming, type: "host", callId: null };
  // The call is known to the recording only by its answer.
  if (!isLive(state)) return overhear(state, asked);
  const params = shapeOf(incoming.params);
  const { files, terminal } = offered(state);
  const isFile = incoming.method.startsWith("fs/");
  if (isFile ? !files : !terminal) return deny(state, incoming, METHOD_NOT_FOUND, "It is turned off in this session.");
  switch (incoming.method) {
    case "fs/read_text_file":
      return isString(params.path)
        ? [perform(state, asked, readCall(params, params.path))]
        : malformed(state, incoming);
    case "fs/write_text_file":
      return onWrite(state, asked);
    case "terminal/create":
      return onCreate(state, asked);
    default:
      return onTerminal(state, asked);
  }
}

const overhear = (state: State, asked: Asked): Report[] => {
  state.asked.set(`overheard/${asked.id}`, asked);
  return [];
};

function deny(state: State, { id }: { id: RpcId }, code: number, message: string): Send[] {
  const line = refuse(state.rpc, { id, code, message });
  return line === null ? [] : [{ type: "send.line", line }];
}

const malformed = (state: State, incoming: Incoming): Send[] =>
  deny(state, incoming, INVALID_PARAMS, `${incoming.method} lacks something.`);

/** Begins a call; `asked` is kept under its id until it is answered. */
function perform(state: State, asked: Asked, call: HostCall): Send {
  state.hostCalls += 1;
  const id = `${HOST_CALL}${state.hostCalls}`;
  state.asked.set(id, asked);
  return { type: "send.host", id, call };
}

const readCall = ({ line, limit }: Shape, path: string): HostCall => ({
  type: "file.read",
  path,
  line: isInteger(line) ? line : null,
  limit: isInteger(limit) ? limit : null,
});

/** First it is looked up where the path leads; then it is decided. */
function onWrite(state: State, asked: Asked): Send[] {
  const { path, content } = shapeOf(asked.params);
  if (!isString(path) || !isString(content)) return malformed(state, asked);
  if (state.options?.permission_mode === "plan")
    return deny(state, asked, INTERNAL_ERROR, "Nothing is written in plan mode.");
  return [perform(state, asked, { type: "file.place", path })];
}

function onCreate(state: State, asked: Asked): (Report | Send)[] {
  const line = commandLine(shapeOf(asked.params));
  if (line === null) return malformed(state, asked);
  const bypass = state.options?.permission_mode === "bypass";
  if (bypass || isGranted(state.grants, commandGrant(line), "") || isShellGranted(state, line)) {
    return [perform(state, asked, createCall(shapeOf(asked.params)))];
  }
  const { cwd } = shapeOf(asked.params);
  const directory = isString(cwd) ? { directory: cwd } : {};
  const requested = requestedCommand(shapeOf(asked.params));
  const command = requested.kind === "command" ? { ...requested, ...directory } : requested;
  return ask(state, asked, { action: "execute", requested: command, input: { command: line, cwd } });
}

/** The whole command line as a person reads it. */
function commandLine({ command, args }: Shape): string | null {
  if (!isString(command) || command.trim() === "") return null;
  const words = Array.isArray(args) ? args.filter(isString) : [];
  return [command, ...words].join(" ");
}

/** The same, quoted. Variables of the command's environment can change what it does. */
function requestedCommand(params: Shape): RequestedAction {
  const command = variablesIn(params.env).length === 0 ? commandIn(params) : null;
  return command === null ? { kind: "unknown" } : { kind: "command", command };
}

// Quirk: what was approved as a command is run by a shell (transcripts/kimi/command-terminal, grok/command-terminal).
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh(?: -l?c| -l -c) ('?)([\s\S]*)\1$/;

function isShellGranted(state: State, line: string): boolean {
  const [, quote, script] = SHELL.exec(line) ?? [];
  if (script === undefined) return false;
  const plain = quote === "'" ? script.replaceAll("'\\''", "'").replaceAll(`'"'"'`, "'") : script;
  return isGranted(state.grants, commandGrant(withoutFolder(state, plain)), "");
}

// Quirk: it changes to the session's folder first, where it runs anyway (transcripts/kimi/command-terminal).
function withoutFolder({ options }: State, script: string): string {
  const folders = [options?.folder?.path, options?.directory].filter(isString);
  const prefix = folders.map((folder) => `cd '${folder}' && `).find((start) => script.startsWith(start));
  return prefix === undefined ? script : script.slice(prefix.length);
}

function createCall({ command, args, env, cwd, outputByteLimit }: Shape): HostCall {
  const words = Array.isArray(args) ? args.filter(isString) : [];
  // Some give the whole line as the command; then a shell runs it.
  const whole = words.length === 0;
  return {
    type: "terminal.create",
    command: whole ? "/bin/sh" : String(command),
    args: whole ? ["-c", String(command)] : words,
    env: Object.fromEntries(variablesIn(env)),
    cwd: isString(cwd) ? cwd : null,
    outputByteLimit: isInteger(outputByteLimit) ? outputByteLimit : null,
  };
}

const variablesIn = (env: unknown): [string, string][] =>
  (Array.isArray(env) ? env : []).map(shapeOf).flatMap(({ name, value }) => {
    return isString(name) && isString(value) ? [[name, value]] : [];
  });

function ask(
  state: State,
  asked: Asked,
  { action, requested, input }: Pick<PermissionReport, "action" | "requested" | "input">,
): Report[] {
  const key = nextKey(state, "host");
  state.asked.set(key, asked);
  const report: PermissionReport = {
    type: "permission",
    key,
    action,
    tool: asked.method,
    call_id: null,
    input,
    requested,
    byHost: true,
  };
  return [report];
}

/** A person has answered what we asked for the agent. */
export function onHostAnswered(state: State, asked: Asked, reply: AgentReply): Send[] {
  const params = shapeOf(asked.params);
  if (reply === "reject") return deny(state, asked, INTERNAL_ERROR, "The user said no.");
  if (asked.method === "terminal/create") return [perform(state, asked, createCall(params))];
  const path = String(params.real ?? params.path);
  return [perform(state, asked, { type: "file.write", path, content: String(params.content) })];
}

function onTerminal(state: State, asked: Asked): Send[] {
  const { terminalId } = shapeOf(asked.params);
  const type = terminalCalls.get(asked.method);
  if (!isString(terminalId) || type === undefined) return malformed(state, asked);
  return [perform(state, asked, { type, terminal: terminalId })];
}

const terminalCalls: ReadonlyMap<string, "terminal.output" | "terminal.wait" | "terminal.kill" | "terminal.release"> =
  new Map([
    ["terminal/output", "terminal.output"],
    ["terminal/wait_for_exit", "terminal.wait"],
    ["terminal/kill", "terminal.kill"],
    ["terminal/release", "terminal.release"],
  ]);

interface Response {
  readonly id: string;
  readonly status: number;
  readonly body: unknown;
}

/** The edge has done what was asked, or says why not. */
export function onHostResponse(state: State, { id, status, body }: Response): (Report | Send)[] {
  const asked = state.asked.get(id);
  if (asked === undefined) return [];
  state.asked.delete(id);
  if (status !== 200) {
    const { message } = shapeOf(body);
    const code = status === 404 ? RESOURCE_NOT_FOUND : INTERNAL_ERROR;
    return deny(state, asked, code, isString(message) ? message : "It could not be done.");
  }
  if (asked.method === "fs/write_text_file" && isPlace(body)) return onPlaced(state, asked, body);
  const line = answer(state.rpc, { id: asked.id, result: body });
  const send: Send[] = line === null ? [] : [{ type: "send.line", line }];
  return [...onHostResult(state, asked, body), ...send];
}

const isPlace = (body: unknown): body is FilePlace =>
  isShape(body) && isString(body.path) && typeof body.inside === "boolean" && typeof body.runsCode === "boolean";

function onPlaced(state: State, asked: Asked, place: FilePlace): (Report | Send)[] {
  const { path, content } = shapeOf(asked.params);
  if (!place.inside) {
    return deny(state, asked, INTERNAL_ERROR, `${String(path)} is outside the session's folder.`);
  }
  const text = String(content);
  const allowed =
    state.options?.permission_mode === "bypass" ||
    isGranted(state.grants, pathGrant(place.path), text) ||
    // A file that runs code is only allowed by its own name, never by that of a link to it.
    (!place.runsCode && isGranted(state.grants, pathGrant(String(path)), text));
  const write: HostCall = { type: "file.write", path: place.path, content: text };
  if (allowed) return [perform(state, asked, write)];
  const params = { ...shapeOf(asked.params), real: place.path };
  const input = { path: place.path, content: text };
  const requested: RequestedAction = { kind: "paths", access: "write", paths: [place.path] };
  return ask(state, { ...asked, params }, { action: "edit", requested, input });
}

/** What an answer of ours says about terminals and their output, live and in recordings. */
export function onHostResult(state: State, { method, params }: Asked, result: unknown): Report[] {
  const fields = shapeOf(result);
  const { terminalId } = method === "terminal/create" ? fields : shapeOf(params);
  if (!isString(terminalId)) return [];
  const terminal = state.terminals.get(terminalId) ?? { call: runningCommand(state), shown: 0 };
  state.terminals.set(terminalId, terminal);
  const call = terminal.call === null ? undefined : state.calls.get(terminal.call);
  const { output, truncated, exitStatus, exitCode } = fields;
  const code = method === "terminal/wait_for_exit" ? exitCode : shapeOf(exitStatus).exitCode;
  if (call !== undefined && isInteger(code)) call.exitCode = code;
  if (method === "terminal/release") state.terminals.delete(terminalId);
  if (call === undefined || !isString(output) || truncated === true) return [];
  const fresh = output.slice(terminal.shown);
  terminal.shown = output.length;
  return addOutput(call, fresh);
}

/** Calls for terminals do not name their tool call: the command that runs and has no terminal yet is meant. */
function runningCommand({ calls, terminals }: State): string | null {
  const taken = new Set([...terminals.values()].map(({ call }) => call));
  const open = [...calls.values()].filter(({ kind, called, id }) => kind === "execute" && called && !taken.has(id));
  return open[0]?.id ?? null;
}

/** The turn is stopped: so are its commands. */
export function killTerminals(state: State): Send[] {
  return [...state.terminals.keys()].map((terminal) => {
    state.hostCalls += 1;
    return { type: "send.host", id: `${HOST_CALL}${state.hostCalls}`, call: { type: "terminal.kill", terminal } };
  });
}

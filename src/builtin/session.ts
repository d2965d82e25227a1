/** One session of the builtin agent: its conversation, its settings as they change, and the turn that runs. */
import { randomUUID } from "node:crypto";
import { defined } from "../core/defined.ts";
import type { InProcessHost } from "../core/in-process.ts";
import type { BuiltinHears, BuiltinSays, BuiltinTodo } from "../dialects/builtin.ts";
import type { RememberedScope } from "../permissions/scopes.ts";
import { ApiError } from "../protocol/errors.ts";
import type { PermissionMode } from "../protocol/events.ts";
import { fullView } from "../runtime/agent/file-view.ts";
import type { OutboundFetch } from "../runtime/outbound/fetch.ts";
import { readAttachments } from "./attachments.ts";
import { type Repeats, trackRepeats } from "./calls.ts";
import { runChild } from "./child.ts";
import { compactConversation } from "./compaction.ts";
import type { BuiltinSettings } from "./config.ts";
import type { Conversation } from "./conversation.ts";
import { userEntryId } from "./conversation.ts";
import { createGate } from "./gate.ts";
import type { History } from "./history.ts";
import { systemPrompt } from "./instructions.ts";
import { type LoadHistory, loadConversation, nativeId } from "./load.ts";
import { type Ending, type Loop, runLoop } from "./loop.ts";
import { type McpTools, openMcpTools } from "./mcp/tools.ts";
import { type OpenModel, openModel } from "./model.ts";
import { readRules } from "./permission/policy.ts";
import { chooseModel, type Environment } from "./providers.ts";
import type { Hooks, SessionContext, World } from "./session-context.ts";
import type { Speaker } from "./speaker.ts";
import { fileLedger } from "./tools/files.ts";
import { tools } from "./tools/index.ts";

export interface SessionOptions {
  readonly host: InProcessHost;
  readonly settings: BuiltinSettings;
  readonly version: string;
  readonly loadHistory: LoadHistory;
  readonly directory: string;
  readonly outputDirectory: string;
  readonly dataDirectory: string | null;
  readonly environment: Environment;
  readonly commandEnvironment: Readonly<Record<string, string>>;
  readonly ripgrep: string | null;
  readonly hooks: Hooks;
  readonly world: World;
  /** For MCP servers that have an address. */
  readonly mcpFetch: OutboundFetch;
}

export interface Session {
  readonly introduce: () => Promise<void>;
  readonly hear: (line: BuiltinHears) => Promise<void>;
}

interface State {
  readonly mcp: McpTools;
  readonly options: SessionOptions;
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly repeats: Repeats;
  readonly remembered: RememberedScope[];
  readonly calls: Set<string>;
  model: string | null;
  variant: string | null;
  permissionMode: PermissionMode;
  todos: readonly BuiltinTodo[];
  ids: number;
  users: number;
  /** Read once, before the first turn. */
  loaded: boolean;
  turn: AbortController | null;
}

const DEFAULT_MAX_STEPS = 200;

export function openBuiltinSession(options: SessionOptions): Session {
  const state = startState(options);
  return {
    introduce: () => introduce(state),
    hear: (line) => hear(state, line),
  };
}

function startState(options: SessionOptions): State {
  const { host, settings } = options;
  const { model, variant, mode, permission_mode } = host.options;
  const rules = readRules(settings.permission ?? {});
  const say = async (line: BuiltinSays): Promise<void> => {
    if (!host.emit(line)) await host.drained();
  };
  const gate = createGate({
    policy: () => ({ mode: state.permissionMode, rules, remembered: state.remembered }),
    remember: (scopes) => void state.remembered.push(...scopes),
    say,
    rejectTogether: !(settings.experimental?.continue_loop_on_deny ?? false),
  });
  const { directory, outputDirectory, dataDirectory, commandEnvironment, ripgrep, hooks, world } = options;
  const context: SessionContext = {
    directory,
    outputDirectory,
    dataDirectory,
    commandEnvironment,
    ...{ ripgrep, hooks, world, settings, gate, say },
    sessionId: host.options.session_id,
    files: fileLedger(),
    processes: host.processes ?? { begin: async () => randomUUID(), ended: () => {} },
    view: host.view ?? fullView,
    todos: {
      read: () => state.todos,
      write(todos) {
        state.todos = todos;
        void say({ type: "todo", todos });
      },
    },
    nextId(kind) {
      state.ids += 1;
      return `${kind}_${state.ids}`;
    },
    ownCallId: (native) => ownCallId(state.calls, native),
  };
  const state: State = {
    mcp: serversOf(options, context),
    options,
    context,
    model,
    variant,
    conversation: { entries: [], used: 0, inbox: [], compactWanted: false },
    repeats: trackRepeats(),
    remembered: [],
    calls: new Set(),
    permissionMode: mode === "plan" ? "plan" : permission_mode,
    todos: [],
    ids: 0,
    users: 0,
    loaded: false,
    turn: null,
  };
  return state;
}

/** Its servers end with the connection to the session. */
function serversOf({ host, mcpFetch, version }: SessionOptions, context: SessionContext): McpTools {
  const servers = host.options.mcp;
  const mcp = openMcpTools({ servers, context, fetch: mcpFetch, version });
  if (Object.keys(servers).length > 0) host.signal.addEventListener("abort", () => void mcp.close());
  return mcp;
}

/** Providers number calls per answer, some from one each time; a session's items need ids of their own. */
function ownCallId(calls: Set<string>, native: string): string {
  let id = native;
  for (let count = 2; calls.has(id); count += 1) id = `${native}_${count}`;
  calls.add(id);
  return id;
}

async function introduce(state: State): Promise<void> {
  const { host, version, directory } = state.options;
  const session_id = await nativeId({ options: host.options, loadHistory: state.options.loadHistory });
  await state.context.say({
    type: "session",
    agent: "builtin",
    session_id,
    version,
    directory,
    model: modelName(state),
    permission_mode: state.permissionMode,
    tools: tools.map(({ name }) => name),
  });
}

/** Null when none can be chosen as things stand; the first turn will say why. */
function modelName(state: State): string | null {
  try {
    const { provider, model } = choose(state);
    return `${provider}/${model}`;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

const choose = ({ model, options: { settings, environment } }: State) =>
  chooseModel({ wanted: model, settings, environment });

async function hear(state: State, line: BuiltinHears): Promise<void> {
  switch (line.type) {
    case "prompt":
    case "steer":
      return onPrompt(state, line);
    case "abort":
      state.turn?.abort();
      return;
    case "set":
      return onSet(state, line);
    case "compact":
      if (state.turn === null) startTurn(state, (signal) => compactNow(state, signal));
      else state.conversation.compactWanted = true;
      return;
    default:
      state.context.gate.hear(line);
  }
}

async function onPrompt(state: State, line: Extract<BuiltinHears, { type: "prompt" | "steer" }>): Promise<void> {
  await load(state);
  const { text, parts } = await readAttachments(line.attachments, { directory: state.options.directory });
  state.users += 1;
  state.conversation.inbox.push({ type: "user", id: userEntryId(state.users), text: line.text + text, parts });
  state.repeats.clear();
  if (state.turn === null) startTurn(state, (signal) => runLoop(mainLoop(state, signal)));
}

async function onSet(state: State, line: Extract<BuiltinHears, { type: "set" }>): Promise<void> {
  const { model, variant, mode, permission_mode } = line;
  if (model !== undefined) state.model = model;
  if (variant !== undefined) state.variant = variant;
  if (permission_mode !== undefined) state.permissionMode = permission_mode;
  if (mode === "plan") state.permissionMode = "plan";
  else if (mode !== undefined && state.permissionMode === "plan") state.permissionMode = "default";
  await state.context.say({
    type: "changed",
    ...defined({ model, variant, mode }),
    permission_mode: state.permissionMode,
  });
}

async function load(state: State): Promise<void> {
  if (state.loaded) return;
  const { host, loadHistory } = state.options;
  const history: History = await loadConversation({ options: host.options, loadHistory });
  state.loaded = true;
  state.conversation.entries = history.entries;
  state.conversation.used = history.used;
  state.remembered.push(...history.remembered);
  state.todos = history.todos;
  for (const call of history.calls) state.calls.add(call);
  state.ids = Math.max(state.ids, history.ids);
  state.users = history.users;
}

/** One turn at a time. Whatever happens in it, it ends with one `end`. */
function startTurn(state: State, work: (signal: AbortSignal) => Promise<Ending>): void {
  const turn = new AbortController();
  state.turn = turn;
  const { host } = state.options;
  const stop = (): void => turn.abort();
  if (host.signal.aborted) stop();
  host.signal.addEventListener("abort", stop);
  void work(turn.signal)
    .catch((error: unknown) => (turn.signal.aborted ? { reason: "aborted" as const } : endOf(error)))
    .then((ending) => {
      host.signal.removeEventListener("abort", stop);
      state.turn = null;
      void state.context.say({ type: "end", ...ending });
    });
}

function endOf(error: unknown): Ending {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof ApiError ? "configuration" : "internal";
  return { reason: "error", error: { message, code, details: null } };
}

async function compactNow(state: State, signal: AbortSignal): Promise<Ending> {
  const { context, conversation } = state;
  await load(state);
  const open = await openChosen(state);
  const compacted = await compactConversation({
    context,
    conversation,
    open,
    signal,
    subagent: undefined,
    why: "asked",
  });
  if (compacted.type === "done" || compacted.empty) return { reason: "completed" };
  if (compacted.aborted) return { reason: "aborted" };
  const { message } = compacted;
  return {
    reason: "error",
    error: { message: `The compaction failed: ${message}`, code: "compaction_failed", details: null },
  };
}

function mainLoop(state: State, signal: AbortSignal): Loop {
  const { context, conversation, repeats } = state;
  const speaker = speakerFor(state, undefined);
  const open = onceFor(
    () => openChosen(state),
    () => `${modelName(state)} ${state.variant}`,
  );
  const system = onceFor(
    () => instructions(state),
    () => `${modelName(state)} ${state.permissionMode}`,
  );
  return {
    context,
    conversation,
    speaker,
    signal,
    repeats,
    subagent: undefined,
    maxSteps: context.settings.maxSteps ?? DEFAULT_MAX_STEPS,
    equip: async () => ({
      open: await open(),
      system: await system(),
      tools: [...tools, ...(await state.mcp.offered(signal))],
    }),
    delegate: (task) => runChild(task, { context, open, system, speakerFor: (id) => speakerFor(state, id) }),
  };
}

function speakerFor({ context }: State, subagent: string | undefined): Speaker {
  const { say, ownCallId: own, hooks, sessionId: sessionID } = context;
  const completeText: Speaker["completeText"] = async (ids, text) =>
    (await hooks.trigger("experimental.text.complete", { sessionID, ...ids }, { text })).text;
  return {
    say,
    mark: subagent === undefined ? {} : { subagent },
    ownCallId: own,
    completeText: hooks.has("experimental.text.complete") ? completeText : null,
  };
}

const openChosen = (state: State): Promise<OpenModel> => openModel(choose(state), { variant: state.variant });

function instructions(state: State): Promise<string> {
  const { options, permissionMode: mode, context } = state;
  return systemPrompt({
    directory: options.directory,
    mode,
    addition: options.host.options.system_prompt,
    model: modelName(state) ?? "unknown",
    platform: process.platform,
    today: new Date(context.world.now()).toISOString().slice(0, 10),
  });
}

/** Made anew only when what it depends on has changed. */
function onceFor<T>(make: () => Promise<T>, keyOf: () => string): () => Promise<T> {
  let made: { readonly key: string; readonly value: Promise<T> } | null = null;
  return () => {
    const key = keyOf();
    if (made?.key !== key) made = { key, value: make() };
    return made.value;
  };
}

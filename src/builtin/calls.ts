/** Runs the tools a step called: together where they may, each within its bounds, and every one with an answer. */
import { defined } from "../core/defined.ts";
import type { BuiltinFile } from "../dialects/builtin.ts";
import type { ToolAnswer } from "./conversation.ts";
import { judge } from "./permission/policy.ts";
import type { SessionContext } from "./session-context.ts";
import type { ModelCall } from "./step.ts";
import { findTool } from "./tools/index.ts";
import { Denied, type Permit, type Tool, type ToolContext, ToolFailure, type ToolOutcome } from "./tools/tool.ts";

/** Calls of one step that run at the same time. */
const PARALLEL = 8;

export interface CallsOptions {
  readonly context: SessionContext;
  readonly calls: readonly ModelCall[];
  readonly tools: readonly Tool[];
  readonly repeats: Repeats;
  readonly signal: AbortSignal;
  readonly subagent: string | undefined;
  readonly delegate: (task: { callId: string; title: string; prompt: string; signal: AbortSignal }) => Promise<string>;
}

export interface CallsResult {
  readonly answers: readonly ToolAnswer[];
  /** A person said no and nothing else. */
  readonly rejected: boolean;
  /** The model repeats a call that was refused because it repeats it. */
  readonly doomed: boolean;
}

export async function runCalls(options: CallsOptions): Promise<CallsResult> {
  const { calls } = options;
  const ended: Ended[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next; index < calls.length; index = next) {
      next += 1;
      const call = calls[index];
      if (call !== undefined) ended[index] = await runCall(options, call);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, calls.length) }, work));
  return {
    answers: ended.map(({ answer }) => answer),
    rejected: ended.some(({ rejected }) => rejected),
    doomed: ended.some(({ doomed }) => doomed),
  };
}

interface Ended {
  readonly answer: ToolAnswer;
  readonly rejected: boolean;
  readonly doomed: boolean;
}

async function runCall(options: CallsOptions, call: ModelCall): Promise<Ended> {
  const { context, repeats, signal } = options;
  const { call_id, tool } = call;
  try {
    signal.throwIfAborted();
    const outcome = await perform(options, call);
    const { output, is_error = false, exit_code, files = [] } = outcome;
    repeats.note(call, { output, changed: !is_error && files.some(isWrite) });
    await context.say({
      type: "tool.result",
      call_id,
      output,
      is_error,
      files,
      ...defined({ exit_code }),
    });
    return { answer: { call_id, tool, output, is_error }, rejected: false, doomed: false };
  } catch (error) {
    const message = await failed(options, { call, error });
    return {
      answer: { call_id, tool, output: message, is_error: true },
      rejected: error instanceof Denied && error.silent,
      doomed: error instanceof LoopRefused && repeats.count(call) >= DOOM_END,
    };
  }
}

const isWrite = ({ action }: BuiltinFile): boolean => action !== "read";

async function failed(options: CallsOptions, { call, error }: { call: ModelCall; error: unknown }): Promise<string> {
  const { context, repeats, signal, subagent } = options;
  const { call_id } = call;
  const message = signal.aborted && !(error instanceof ToolFailure) ? "The tool was stopped." : messageOf(error);
  const denied = error instanceof Denied;
  if (error instanceof LoopRefused) repeats.refuse(call);
  else repeats.note(call, { output: message, changed: false });
  if (denied && error.by === "rule") {
    const id = context.nextId("ntc");
    const mark = subagent === undefined ? {} : { subagent };
    await context.say({ type: "notice", id, label: "denied", detail: message, ...mark });
  }
  await context.say({ type: "tool.error", call_id, message, denied });
  return message;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function perform(options: CallsOptions, call: ModelCall): Promise<ToolOutcome> {
  const { context, tools } = options;
  const { hooks, sessionId: sessionID } = context;
  const found = findTool(tools, call.tool);
  if (found === null) {
    const names = tools.map(({ name }) => name).join(", ");
    throw new ToolFailure(
      `There is no tool "${call.tool}". ${names === "" ? "No tools are left." : `Use one of: ${names}.`}`,
    );
  }
  await refuseDoomLoop(options, call);
  const about = { tool: found.name, sessionID, callID: call.call_id };
  const { args } = await hooks.trigger("tool.execute.before", about, { args: call.input });
  const prepared = found.prepare(args);
  const outcome = await prepared.run(toolContext(options, call));
  if (!hooks.has("tool.execute.after")) return outcome;
  const result = { title: prepared.title, output: outcome.output, metadata: {} };
  const { output } = await hooks.trigger("tool.execute.after", { ...about, args }, result);
  return { ...outcome, output: typeof output === "string" ? output : outcome.output };
}

function toolContext({ context, signal, subagent, delegate }: CallsOptions, call: ModelCall): ToolContext {
  const { directory, outputDirectory, dataDirectory, sessionId, files, processes, view, ripgrep, todos, gate } =
    context;
  const { call_id: callId, tool, input } = call;
  const asker = { tool, call_id: callId, input, subagent, signal };
  return {
    directory,
    outputDirectory,
    dataDirectory,
    sessionId,
    callId,
    signal,
    files,
    processes,
    view,
    ripgrep,
    todos,
    environment: context.commandEnvironment,
    permit: (permit) => gate.permit(permit, asker),
    ask: (questions) => gate.ask(questions, asker),
    emit: (delta) => void context.say({ type: "tool.output", call_id: callId, delta }),
    delegate: (task) => delegate({ callId, ...task, signal }),
  };
}

/** A rule refused a call because it had given the same result before. */
class LoopRefused extends Denied {
  constructor(message: string) {
    super(message, { by: "rule", silent: false });
  }
}

/** The third time the same call is about to give the same result, a person is asked first. */
async function refuseDoomLoop({ context, repeats, subagent, signal }: CallsOptions, call: ModelCall): Promise<void> {
  if (repeats.count(call) < DOOM_LIMIT - 1) return;
  const { tool, call_id, input } = call;
  const permit: Permit = {
    action: "doom_loop",
    judge: (policy) => judge(policy, { names: ["doom_loop"], texts: [tool] }),
    patterns: [tool],
    always: [{ action: "doom_loop", pattern: tool }],
    metadata: { repeated: repeats.count(call) },
  };
  try {
    await context.gate.permit(permit, { tool, call_id, input, subagent, signal });
  } catch (error) {
    throw error instanceof Denied && error.by === "rule" ? new LoopRefused(error.message) : error;
  }
  repeats.forget(call);
}

const DOOM_LIMIT = 3;
/** A model that goes on calling what was refused is stopped at this many. */
const DOOM_END = 5;

/** How often each call has given the same result. */
export interface Repeats {
  readonly count: (call: ModelCall) => number;
  readonly note: (call: ModelCall, result: { readonly output: string; readonly changed: boolean }) => void;
  /** It was called again, and did not run. */
  readonly refuse: (call: ModelCall) => void;
  readonly forget: (call: ModelCall) => void;
  readonly clear: () => void;
}

/** Calls remembered at the same time; a loop is never that wide. */
const REPEATS_LIMIT = 200;

export function trackRepeats(): Repeats {
  const seen = new Map<string, { readonly output: string; readonly count: number }>();
  const keyOf = ({ tool, input }: ModelCall): string => `${tool} ${JSON.stringify(input)}`;
  return {
    count: (call) => seen.get(keyOf(call))?.count ?? 0,
    note(call, { output, changed }) {
      const key = keyOf(call);
      const before = seen.get(key);
      // A changed file is progress: to run the tests again after it is no loop.
      if (changed) seen.clear();
      const [oldest] = seen.keys();
      if (seen.size >= REPEATS_LIMIT && oldest !== undefined) seen.delete(oldest);
      seen.delete(key);
      seen.set(key, { output, count: before?.output === output ? before.count + 1 : 1 });
    },
    refuse(call) {
      const before = seen.get(keyOf(call));
      if (before !== undefined) seen.set(keyOf(call), { ...before, count: before.count + 1 });
    },
    forget: (call) => void seen.delete(keyOf(call)),
    clear: () => seen.clear(),
  };
}

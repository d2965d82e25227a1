/**
 * Calls of the model as items: those that Codex keeps no item for (failed patches, unknown tools, bad arguments, all
 * tools of older versions) have only the call and its output.
 */
import { lookUp } from "../../core/look-up.ts";
import { type CodexFileLine, commandLine } from "../../dialects/codex-file.ts";
import { isNumber, isString, type Shape, shapeOf } from "../../dialects/shape.ts";

export interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, or the text of a custom tool. */
  readonly input: string;
}

const callKinds = new Set(["response_item/function_call", "response_item/custom_tool_call"]);
const outputKinds = new Set(["response_item/function_call_output", "response_item/custom_tool_call_output"]);

export function callIn({ kind, payload }: CodexFileLine): Call | null {
  const { call_id, name, arguments: written, input } = payload;
  if (!callKinds.has(kind) || !isString(call_id) || !isString(name)) return null;
  return { id: call_id, name, input: isString(written) ? written : isString(input) ? input : "" };
}

export function outputIn({ kind, payload }: CodexFileLine): { readonly id: string; readonly output: string } | null {
  const { call_id, output } = payload;
  if (!outputKinds.has(kind) || !isString(call_id)) return null;
  return { id: call_id, output: isString(output) ? output : (JSON.stringify(output) ?? "") };
}

export const isCallLine = ({ kind }: CodexFileLine): boolean => callKinds.has(kind) || outputKinds.has(kind);

/** The plan is no tool of the session: it is the list of todos. */
export const PLAN_TOOL = "update_plan";

const planStates: Readonly<Record<string, string>> = {
  pending: "pending",
  in_progress: "inProgress",
  completed: "completed",
};

export function planOf({ input }: Call): readonly Shape[] {
  const { plan } = shapeOf(parsed(input));
  if (!Array.isArray(plan)) return [];
  return plan.map(shapeOf).flatMap(({ step, status }) => {
    const state = isString(status) ? lookUp(planStates, status) : undefined;
    return isString(step) && state !== undefined ? [{ step, status: state }] : [];
  });
}

const SHELLS = new Set(["exec_command", "shell", "shell_command", "local_shell", "container.exec"]);

/** The item while the call runs, or with its output. */
export function callItem(call: Call, { output, cwd }: { output: string | null; cwd: string }): Shape {
  const input = parsed(call.input);
  const { cmd, command, workdir } = shapeOf(input);
  const line = commandLine(cmd ?? command);
  if (SHELLS.has(call.name) && line !== "")
    return commandItem(call, { line, output, cwd: isString(workdir) ? workdir : cwd });
  const failed = output !== null && isFailure(call, output);
  return {
    type: "dynamicToolCall",
    id: call.id,
    tool: call.name,
    arguments: input ?? { input: call.input },
    status: output === null ? "inProgress" : failed ? "failed" : "completed",
    contentItems: output === null ? null : [{ type: "inputText", text: outputOf(output).text }],
    success: output === null ? null : !failed,
  };
}

function commandItem(call: Call, { line, output, cwd }: { line: string; output: string | null; cwd: string }): Shape {
  const item = { type: "commandExecution", id: call.id, command: line, cwd, commandActions: [] };
  if (output === null) return { ...item, status: "inProgress" };
  const { text, exitCode } = outputOf(output);
  return {
    ...item,
    status: exitCode === 0 || exitCode === null ? "completed" : "failed",
    aggregatedOutput: text,
    ...(exitCode === null ? {} : { exitCode }),
  };
}

const HEADER = /^(?:[^\n]*\n)*?Output:\n/;

/** Older versions wrap a command's output in JSON, newer ones put a few lines before it. */
function outputOf(output: string): { readonly text: string; readonly exitCode: number | null } {
  const wrapped = shapeOf(parsed(output));
  if (isString(wrapped.output)) {
    const { exit_code } = shapeOf(wrapped.metadata);
    return { text: wrapped.output, exitCode: isNumber(exit_code) ? exit_code : null };
  }
  const exit = /^(?:Process exited with code|Exit code:) (-?\d+)$/m.exec(output.slice(0, HEADER_LENGTH));
  const isHeaded = exit !== null && HEADER.test(output.slice(0, HEADER_LENGTH));
  return {
    text: isHeaded ? output.slice(output.indexOf("Output:\n") + "Output:\n".length) : output,
    exitCode: exit === null ? null : Number(exit[1]),
  };
}

const HEADER_LENGTH = 400;

const FAILURES = [/^unsupported call/, /^failed to parse/, /verification failed/, /^Rejected/, /^aborted by user/];

function isFailure(call: Call, output: string): boolean {
  const { exitCode } = outputOf(output);
  return (exitCode !== null && exitCode !== 0) || FAILURES.some((words) => words.test(output)) || call.id === "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

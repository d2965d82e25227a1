/**
 * The action behind a permission request of an ACP agent: from the arguments of the tool call, its diffs and its
 * locations. A title is meant for display and may be incomplete, so it is never used.
 */
import { joinWords, wrappedScript } from "../../core/shell-words.ts";
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { PathAccess, RequestedAction } from "../../permissions/inspection.ts";
import type { Call } from "./state.ts";

export function requestedBy(call: Call): RequestedAction {
  const input = shapeOf(call.input);
  const command = commandIn(input);
  if (command !== null) return { kind: "command", command, ...directoryIn(input) };
  switch (call.kind) {
    case "edit":
    case "delete":
    case "move":
      return pathsAction(call, "write");
    case "read":
    case "search":
      return pathsAction(call, "read");
    case "fetch":
      return isString(input.url) ? { kind: "url", url: input.url } : { kind: "unknown" };
    case "execute":
      return { kind: "unknown" };
    default:
      // Without arguments the action is unknown: it could be a command.
      return Object.keys(input).length === 0 ? { kind: "unknown" } : { kind: "tool" };
  }
}

/** A command line, or the words of one. */
export function commandIn({ command, args }: Shape): string | null {
  const words = Array.isArray(command) ? command : Array.isArray(args) ? [command, ...args] : null;
  if (words !== null && words.length > 0 && words.every(isString)) return wrappedScript(words) ?? joinWords(words);
  return isString(command) && command.trim() !== "" ? command : null;
}

const directoryNames = ["cwd", "workdir", "directory", "dir_path"];

function directoryIn(input: Shape): { readonly directory?: string } {
  const directory = directoryNames.map((name) => input[name]).find((value) => isString(value) && value !== "");
  return isString(directory) ? { directory } : {};
}

const pathNames = ["file_path", "filePath", "path", "absolute_path", "notebook_path", "old_path", "new_path"];

function pathsAction(call: Call, access: PathAccess): RequestedAction {
  const input = shapeOf(call.input);
  const paths = [...new Set([...pathNames.map((name) => input[name]).filter(isString), ...pathsOf(call)])];
  return paths.length === 0 ? { kind: "unknown" } : { kind: "paths", access, paths };
}

export const pathsOf = ({ content, locations }: Call): string[] => [
  ...new Set([
    ...content.flatMap(({ type, path }) => (type === "diff" && path !== undefined ? [path] : [])),
    ...locations,
  ]),
];

/** The command as shown to users: the title if the agent sends no arguments. */
export const shownCommand = ({ kind, input, title }: Call): string | null =>
  commandIn(shapeOf(input)) ?? (kind === "execute" ? title : null);

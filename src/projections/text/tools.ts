/** A tool call as a line: what it does, to what, and what came of it. The same words for every agent. */

import { commandOf, titleNames } from "../../core/command.ts";
import { lookUp } from "../../core/look-up.ts";
import { visible } from "../../core/visible.ts";
import { isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { FileRefPart, Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";
import { changesIn } from "./approval.ts";
import { clean, excerpt, oneLine } from "./style.ts";
import { diffSize, duration } from "./summary.ts";

const SUBJECT_WIDTH = 100;
/** A tool that is not a command and is done sooner shows no duration. */
const SLOW_MS = 1_000;

export interface ToolLine {
  readonly verb: string;
  readonly subject: string;
  /** The model's own description of a command, when it is another text than the command. */
  readonly about: string;
  /** Its effect is shown by an event of its own: todos, questions. */
  readonly isShownElsewhere: boolean;
  /** What the call would change, when its result has no diff. */
  readonly diffs: readonly string[];
}

/** Agents' names for the same tools, in lower case and without other characters than letters. */
const VERBS: Readonly<Record<string, string>> = {
  ...verb("Bash", "bash", "shell", "execcommand", "localshell", "commandexecution", "runcommand"),
  ...verb("Read", "read", "readfile", "view", "viewfile"),
  ...verb("Edit", "edit", "editfile", "multiedit", "notebookedit", "applypatch", "patch", "strreplace"),
  ...verb("Write", "write", "writefile", "createfile"),
  ...verb("Glob", "glob", "findfiles"),
  ...verb("Grep", "grep", "search", "searchfiles"),
  ...verb("List", "list", "ls", "listdir", "listdirectory"),
  ...verb("Fetch", "webfetch", "fetch", "readwebpage"),
  ...verb("Search", "websearch"),
  ...verb("Task", "task", "agent", "spawnagent"),
  ...verb("Todo", "todowrite", "todoread", "taskcreate", "taskupdate", "tasklist", "taskget", "updateplan"),
  ...verb("Ask", "question", "askuserquestion", "requestuserinput"),
};

function verb(name: string, ...tools: readonly string[]): Record<string, string> {
  return Object.fromEntries(tools.map((tool) => [tool, name]));
}

const verbOf = (name: string): string => lookUp(VERBS, name.toLowerCase().replace(/[^a-z]/g, "")) ?? clean(name);

export function describeTool(part: ToolCallPart, { directory }: { readonly directory: string | null }): ToolLine {
  const name = verbOf(part.name);
  const command = commandOf(part);
  const isShownElsewhere = part.tool_kind === "note" && (name === "Todo" || name === "Ask");
  if (command !== null) {
    const isNamed = part.title === "" || part.title === part.name || titleNames(part.title, command);
    const about = isNamed ? "" : flat(part.title);
    return { verb: VERBS.bash ?? name, subject: excerpt(command), about, isShownElsewhere, diffs: [] };
  }
  const input = inputOf(part.arguments);
  const subject = within(subjectOf({ part, input, verb: name }), { directory });
  const diffs = part.tool_kind === "file_change" ? changesIn({ input, patterns: [] }).diffs : [];
  return { verb: name, subject, about: "", isShownElsewhere, diffs };
}

/** `Read README.md`, on one line: what is going on. */
export const activityLine = ({ verb: name, subject }: ToolLine): string =>
  oneLine(`${name} ${subject}`, { width: SUBJECT_WIDTH });

export interface ToolOutcome {
  readonly line: ToolLine;
  readonly item: Item;
  readonly part: ToolResultPart;
  readonly ms: number | null;
  readonly directory: string | null;
}

const UNCHANGED = diffSize("");

/** What follows the name of the tool: on what it worked, and how it ended. */
export function outcomeOf({ line, item, part, ms, directory }: ToolOutcome): { subject: string; facts: string[] } {
  const isCommand = line.verb === VERBS.bash;
  const changes = item.content.filter((each): each is FileRefPart => each.type === "file_ref" && isString(each.diff));
  const sizes = changes.map(({ path, diff = "" }) => ({ path: within(path, { directory }), size: diffSize(diff) }));
  const shown = sizes.map(({ path, size }) => `${path} ${size}`).join(", ");
  const planned = part.is_error || line.diffs.length === 0 ? UNCHANGED : diffSize(line.diffs.join("\n"));
  return {
    subject: sizes.length > 0 ? shown : `${line.subject}${planned === UNCHANGED ? "" : ` ${planned}`}`,
    facts: [
      ...(part.exit_code === undefined ? [] : [`exit ${part.exit_code}`]),
      ...(ms !== null && ms > 0 && (isCommand || ms >= SLOW_MS) ? [duration(ms)] : []),
    ],
  };
}

/** Diffs of the result, else those that follow from the call's input. */
export function diffsOf({ line, item }: Pick<ToolOutcome, "line" | "item">): readonly string[] {
  const changed = item.content.flatMap((part) => (part.type === "file_ref" && isString(part.diff) ? [part.diff] : []));
  return changed.length > 0 ? changed : line.diffs;
}

const PATHS = ["file_path", "filePath", "notebook_path", "path", "filename"];
const WORDS = ["pattern", "query", "url", "description", "prompt", "subject"];
const FILE_VERBS: ReadonlySet<string> = new Set(["Read", "Edit", "Write", "List"]);

interface Call {
  readonly part: ToolCallPart;
  readonly input: Shape;
  readonly verb: string;
}

function subjectOf({ part, input, verb: name }: Call): string {
  const paths = pathsIn(input);
  if (paths.length > 0 && FILE_VERBS.has(name)) return paths.map(visible).join(", ");
  const words = textsIn(input, WORDS)[0];
  const isKnown = Object.values(VERBS).includes(name);
  if (words !== undefined && isKnown) return flat([words, ...(name === "Grep" ? paths.slice(0, 1) : [])].join(" in "));
  const title = part.title === part.name || part.title === name ? "" : part.title;
  return flat(title === "" && !isKnown ? scalars(input) : withoutVerb(title, name));
}

/** Some agents begin a title with the name of the tool. */
const withoutVerb = (title: string, name: string): string =>
  title.toLowerCase().startsWith(`${name.toLowerCase()} `) ? title.slice(name.length + 1) : title;

function pathsIn(input: Shape): string[] {
  const { changes } = input;
  if (Array.isArray(changes)) return changes.flatMap((change) => textsIn(shapeOf(change), ["path"]));
  if (isShape(changes)) return Object.keys(changes);
  return textsIn(input, PATHS).slice(0, 1);
}

const textsIn = (input: Shape, names: readonly string[]): string[] =>
  names
    .map((name) => input[name])
    .filter((value) => isString(value) && value !== "")
    .map(String);

/** The arguments of a tool nobody knows, as far as they are short. */
const scalars = (input: Shape): string =>
  Object.entries(input)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");

/** Paths in the session's folder are shown from there. */
const within = (text: string, { directory }: { readonly directory: string | null }): string =>
  directory === null || directory === "/"
    ? visible(text)
    : visible(text)
        .split(", ")
        .map((path) =>
          path === directory ? "." : path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path,
        )
        .join(", ");

const flat = (text: string): string => oneLine(visible(text), { width: SUBJECT_WIDTH });

function inputOf(written: string): Shape {
  try {
    return shapeOf(JSON.parse(written));
  } catch {
    return {};
  }
}

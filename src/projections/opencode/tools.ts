/** Every agent's tools under the names and keys that OpenCode's clients draw; what they do not know keeps its own. */
import { defined } from "../../core/defined.ts";
import { parseJson } from "../../core/json.ts";
import type { ToolKind } from "../../protocol/items.ts";

type Input = Readonly<Record<string, unknown>>;

export interface ToolMapping {
  /** OpenCode's name of the tool. */
  readonly tool: string;
  /** Other agents' names, lower case without separators. */
  readonly names: readonly string[];
  /** OpenCode's key, and the keys other agents use for it. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
}

const path = ["file_path", "path", "absolute_path", "target_file", "filename", "file", "notebook_path"];

/** What `docs/event-mapping.md` shows is this table. */
export const toolMappings: readonly ToolMapping[] = [
  {
    tool: "read",
    names: ["read", "readfile", "view", "viewfile", "viewimage"],
    keys: { filePath: path, offset: ["start_line"], limit: [] },
  },
  {
    tool: "edit",
    names: ["edit", "editfile", "multiedit", "strreplace", "searchreplace", "notebookedit"],
    keys: {
      filePath: path,
      oldString: ["old_string", "old_str", "old_text"],
      newString: ["new_string", "new_str", "new_text", "new_source"],
      replaceAll: ["replace_all"],
    },
  },
  {
    tool: "write",
    names: ["write", "writefile", "createfile"],
    keys: { filePath: path, content: ["contents", "file_text", "text"] },
  },
  {
    tool: "apply_patch",
    names: ["applypatch", "filechange", "patch"],
    keys: { patchText: ["patch", "patch_text", "diff", "input"] },
  },
  {
    tool: "bash",
    names: ["bash", "shell", "exec", "execcommand", "localshell", "commandexecution", "runcommand", "shellcommand"],
    keys: { command: ["cmd", "script"], workdir: ["cwd", "working_directory"], description: [], timeout: [] },
  },
  {
    tool: "grep",
    names: ["grep", "ripgrep", "searchfiles", "codesearch"],
    keys: { pattern: ["query", "regex"], path: ["directory"], include: ["glob"] },
  },
  {
    tool: "glob",
    names: ["glob", "findfiles", "fileglob"],
    keys: { pattern: ["filePattern", "file_pattern", "glob"], path: ["directory"] },
  },
  {
    tool: "list",
    names: ["list", "ls", "listdirectory", "listdir", "listfiles"],
    keys: { path: ["directory", "dir_path"] },
  },
  { tool: "webfetch", names: ["webfetch", "fetch", "readwebpage"], keys: { url: ["uri"] } },
  {
    tool: "websearch",
    names: ["websearch", "searchweb", "webrun"],
    keys: { query: ["q", "objective", "search_query"] },
  },
  { tool: "todowrite", names: ["todowrite", "updateplan", "plan"], keys: { todos: ["plan", "items"] } },
  { tool: "todoread", names: ["todoread"], keys: {} },
  {
    tool: "task",
    names: ["task", "agent", "subagent", "spawnagent", "collabagenttoolcall"],
    keys: {
      description: ["title", "name"],
      prompt: ["message", "instructions", "task"],
      subagent_type: ["agent_type", "agent", "role"],
    },
  },
  { tool: "question", names: ["question", "askuserquestion", "requestuserinput"], keys: { questions: [] } },
  { tool: "skill", names: ["skill"], keys: { name: ["skill"] } },
];

const byName = new Map(toolMappings.flatMap((mapping) => mapping.names.map((name) => [name, mapping] as const)));
const byTool = new Map(toolMappings.map((mapping) => [mapping.tool, mapping] as const));

/** Tools with a name nobody knows are drawn by what they do. */
const byKind: Readonly<Record<ToolKind, string | null>> = {
  command: "bash",
  web_search: "websearch",
  subagent: "task",
  file_change: "edit",
  note: null,
  tool: null,
};

export function toolName({ name, kind }: { name: string; kind: ToolKind }): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
  return byName.get(plain)?.tool ?? byKind[kind] ?? name;
}

const keyLists = new Map(
  toolMappings.map((mapping) => [
    mapping,
    Object.entries(mapping.keys).map(([key, aliases]) => ({ key, names: [key, ...aliases] })),
  ]),
);
const keysOf = (mapping: ToolMapping) => keyLists.get(mapping) ?? [];

/** The input under OpenCode's keys; keys that have no counterpart stay as they are. */
export function toolInput({ tool, native }: { tool: string; native: Input }): Input {
  const mapping = byTool.get(tool);
  if (mapping === undefined) return native;
  const input: Record<string, unknown> = {};
  const taken: string[] = [];
  for (const { key, names } of keysOf(mapping)) {
    const found = names.find((name) => native[name] !== undefined && !taken.includes(name));
    if (found === undefined) continue;
    taken.push(found);
    input[key] = native[found];
  }
  for (const key of Object.keys(native)) if (!taken.includes(key) && !(key in input)) input[key] = native[key];
  return shaped({ tool, input });
}

/** A few tools need values of a certain shape, not only certain keys. */
function shaped({ tool, input }: { tool: string; input: Record<string, unknown> }): Input {
  if (tool === "bash" && Array.isArray(input.command)) return { ...input, command: commandLine(input.command) };
  if (tool === "todowrite" && Array.isArray(input.todos)) return { ...input, todos: input.todos.map(todoOf) };
  if (tool === "question" && Array.isArray(input.questions)) {
    return { ...input, questions: input.questions.map(questionOf) };
  }
  if (tool === "task" && typeof input.subagent_type !== "string") return { ...input, subagent_type: "general" };
  return input;
}

/** `["bash", "-lc", "ls"]` is `ls` to a person. */
function commandLine(words: readonly unknown[]): string {
  const texts = words.map(String);
  const [shell, flag, script] = texts;
  const wrapped = texts.length === 3 && /^(.*\/)?(ba|z|da)?sh$/.test(shell ?? "") && /^-l?c$/.test(flag ?? "");
  return wrapped ? (script ?? "") : texts.join(" ");
}

function todoOf(value: unknown): Input {
  const todo = recordOf(value);
  const content = firstText(todo, ["content", "step", "text", "subject", "title"]);
  const status = firstText(todo, ["status"]).replace("inProgress", "in_progress");
  return { content, status: status === "" ? "pending" : status, priority: firstText(todo, ["priority"]) || "medium" };
}

function questionOf(value: unknown): Input {
  const question = recordOf(value);
  const options = Array.isArray(question.options) ? question.options : [];
  return defined({
    question: firstText(question, ["question", "prompt"]),
    header: firstText(question, ["header", "id"]),
    options: options.map((option) => {
      const known = typeof option === "string" ? { label: option } : recordOf(option);
      return { label: firstText(known, ["label", "value"]), description: firstText(known, ["description"]) };
    }),
    multiple: question.multiple === true || question.multiSelect === true || undefined,
  });
}

export function firstText(record: Input, keys: readonly string[]): string {
  for (const key of keys) {
    const value = record[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

const isRecord = (value: unknown): value is Input =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const recordOf = (value: unknown): Input => (isRecord(value) ? value : {});

/** Arguments are JSON in a string, and an agent may have broken off in the middle of it. */
export function parseArguments(text: string): Input {
  if (text === "") return {};
  try {
    const value: unknown = parseJson(text);
    return isRecord(value) ? value : { input: value };
  } catch {
    return { input: text };
  }
}

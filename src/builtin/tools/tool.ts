/** What a tool is: its words to the model, the shape of its input, and what it does with a context that bounds it. */
import * as z from "zod";
import type { InProcessHost } from "../../core/in-process.ts";
import { parseJson } from "../../core/json.ts";
import type { BuiltinFile, BuiltinQuestion, BuiltinTodo } from "../../dialects/builtin.ts";
import type { ToolKind } from "../../protocol/items.ts";
import type { Policy, Verdict } from "../permission/policy.ts";

/** One thing a tool wants to do, and how to ask for it. */
export interface Permit {
  readonly action: string;
  readonly judge: (policy: Policy) => Verdict;
  /** The exact action, as the request shows it. */
  readonly patterns: readonly string[];
  /** What "always" remembers: the exact command, real path, address or tool. Empty if it is asked about every time. */
  readonly always: readonly { readonly action: string; readonly pattern: string }[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ToolContext {
  /** The session's directory, symlinks resolved. */
  readonly directory: string;
  /** Where the full text of a bounded output is kept; the session may read there. */
  readonly outputDirectory: string;
  /** Franca's own data: what is read there is always asked for. Null when it has none. */
  readonly dataDirectory: string | null;
  readonly sessionId: string;
  readonly callId: string;
  readonly signal: AbortSignal;
  /** Resolves when it is allowed, throws `Denied` when it is not. */
  readonly permit: (permit: Permit) => Promise<void>;
  /** What a command says while it runs. */
  readonly emit: (delta: string) => void;
  readonly files: FileLedger;
  readonly environment: Readonly<Record<string, string>>;
  /** Notes a process tree from before its start until it is gone. */
  readonly processes: NonNullable<InProcessHost["processes"]>;
  /** Keeps Franca's own files from the agent. */
  readonly view: NonNullable<InProcessHost["view"]>;
  readonly todos: {
    readonly read: () => readonly BuiltinTodo[];
    readonly write: (todos: readonly BuiltinTodo[]) => void;
  };
  /** One list of answers per question; throws `Denied` when the person will not answer. */
  readonly ask: (questions: readonly BuiltinQuestion[]) => Promise<readonly (readonly string[])[]>;
  /** Runs a child of its own and resolves with its last words. */
  readonly delegate: (task: { readonly title: string; readonly prompt: string }) => Promise<string>;
  /** The path of ripgrep; null when it is not installed. */
  readonly ripgrep: string | null;
}

/** What the session knows of files: order among writers, and what was last seen. */
export interface FileLedger {
  /** One at a time per file, in the order they were asked for. */
  readonly exclusive: <T>(path: string, work: () => Promise<T>) => Promise<T>;
  readonly seen: Map<string, string>;
}

export interface ToolOutcome {
  readonly output: string;
  readonly is_error?: boolean;
  readonly exit_code?: number;
  readonly files?: readonly BuiltinFile[];
}

/** The tool did not run because a rule or a person said no. */
export class Denied extends Error {
  override readonly name = "Denied";
  /** `silent`: a person said no and nothing else, which ends the turn. */
  readonly by: "rule" | "person";
  readonly silent: boolean;

  constructor(message: string, { by, silent }: { by: "rule" | "person"; silent: boolean }) {
    super(message);
    this.by = by;
    this.silent = silent;
  }
}

/** An error that the model can fix: the message says how. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
}

export interface PreparedCall {
  readonly title: string;
  readonly run: (context: ToolContext) => Promise<ToolOutcome>;
}

/** A tool with the type of its input hidden, so that a table can hold them all. */
export interface Tool {
  readonly name: string;
  readonly kind: ToolKind;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Throws `ToolFailure` when the input does not fit. */
  readonly prepare: (input: unknown) => PreparedCall;
}

export interface ToolDefinition<Input> {
  readonly name: string;
  readonly kind: ToolKind;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly title: (input: Input) => string;
  readonly run: (input: Input, context: ToolContext) => Promise<ToolOutcome>;
}

const TITLE_LIMIT = 200;

export function defineTool<Input>(definition: ToolDefinition<Input>): Tool {
  const { name, kind, description, input: schema, title, run } = definition;
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" });
  return {
    name,
    kind,
    description,
    schema: json,
    prepare(given) {
      const parsed = schema.safeParse(withKnownNames(given, json));
      if (!parsed.success) throw new ToolFailure(misfit({ name, error: parsed.error }));
      const input = parsed.data;
      return { title: title(input).slice(0, TITLE_LIMIT), run: (context) => run(input, context) };
    },
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Models trained on other agents spell names their way: `file_path` and `path` are taken for `filePath`. */
function withKnownNames(given: unknown, schema: Readonly<Record<string, unknown>>): unknown {
  const value = typeof given === "string" ? parse(given) : given;
  if (!isRecord(value) || !isRecord(schema.properties)) return value ?? {};
  const names = Object.keys(schema.properties);
  const out: Record<string, unknown> = {};
  for (const [key, one] of Object.entries(value)) {
    const known = names.includes(key) ? key : names.find((name) => plain(name) === plain(key));
    if (known !== undefined) out[known] ??= withKnownNamesInside(one, schema.properties[known]);
  }
  if (names.includes("filePath") && out.filePath === undefined) out.filePath = value.path ?? value.file;
  return out;
}

function withKnownNamesInside(value: unknown, schema: unknown): unknown {
  if (!Array.isArray(value) || !isRecord(schema) || !isRecord(schema.items)) return value;
  const { items } = schema;
  return value.map((one: unknown) => (isRecord(one) ? withKnownNames(one, items) : one));
}

const plain = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase();

function parse(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function misfit({ name, error }: { name: string; error: z.ZodError }): string {
  const issues = error.issues.map(({ path, message }) => `${path.join(".") || "the input"}: ${message}`);
  return `The input of ${name} does not fit. ${issues.join("; ")}. Call it again with the input its schema asks for.`;
}

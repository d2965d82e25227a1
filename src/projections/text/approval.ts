/** What a person sees before saying yes: the whole command or change, where it happens, and what "always" allows. */

import { allowedFromNowOn, type OfferedScope, scopesOf } from "../../core/approval-words.ts";
import { commandIn } from "../../core/command.ts";
import { unifiedDiff } from "../../core/diff.ts";
import { labelled, visible } from "../../core/visible.ts";
import { isShape, isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { Permission } from "../../protocol/events.ts";
import type { Paint } from "./style.ts";

export interface ApprovalRequest {
  readonly permission: Permission;
  /** Where the session works. */
  readonly directory: string;
}

/** All of a request, sorted by what it is: nothing of it is cut or left out. Texts are as the agent sent them. */
export interface Approval {
  readonly command: string | null;
  readonly diffs: readonly string[];
  /** Whatever else it says, field by field. */
  readonly fields: readonly Field[];
  /** Only where there is nothing else to show. */
  readonly patterns: readonly string[];
  /** What the agent says about it. */
  readonly words: readonly string[];
  /** Description of what "always" allows. */
  readonly always: string;
  /** Descriptions of the broader scopes that "always" may have instead. */
  readonly scopes: readonly OfferedScope[];
}

interface Field {
  readonly name: string;
  readonly text: string;
}

export function approvalOf({ permission, directory }: ApprovalRequest): Approval {
  const { metadata } = permission;
  const input: Shape = isShape(metadata.input) ? metadata.input : { input: metadata.input };
  const found = commandIn(input);
  const changes = found === null ? changesIn(metadata) : NO_CHANGES;
  const drawn = new Set([...changes.fields, ...(found === null ? [] : [found.field])]);
  const isPlain = (name: string, value: unknown): boolean =>
    isWords(name, value) || ((name === "cwd" || name === "directory") && value === directory);
  const isKnown = (name: string, value: unknown): boolean =>
    OWN_FIELDS.includes(name) || value === input[name] || (name === "diff" && changes.diffs.includes(String(value)));
  const fields = [
    ...fieldsOf(input, (name, value) => drawn.has(name) || isPlain(name, value)),
    ...fieldsOf(metadata, (name, value) => isKnown(name, value) || isPlain(name, value)),
  ];
  const isBare = found === null && changes.diffs.length === 0 && fields.length === 0;
  return {
    command: found?.command ?? null,
    diffs: changes.diffs,
    fields,
    patterns: isBare ? metadata.patterns : [],
    words: [...new Set([...wordsIn(metadata), ...wordsIn(input)])],
    always: allowedFromNowOn(permission),
    scopes: scopesOf(permission),
  };
}

/** For a terminal: nothing in it can command the terminal. */
export function approvalLines(request: ApprovalRequest, paint: Paint): string[] {
  const { command, diffs, fields, patterns, words, always, scopes } = approvalOf(request);
  return [
    ...(command === null ? [] : commandLines(command, paint)),
    ...diffs.flatMap((diff) => diffLines(diff, paint)),
    ...fields.flatMap(linesOfField),
    ...patterns.flatMap((pattern) => visible(pattern).split("\n")),
    ...words.map((text) => paint.dim(`the agent says: ${labelled(text)}`)),
    paint.dim(`in ${labelled(request.directory)}`),
    paint.dim(`always: ${always}`),
    ...scopes.map((one) => paint.dim(`or always: ${one.always}`)),
  ];
}

/** What the agent says about its own request: named as such, because it need not be true. */
const AGENT_WORDS: readonly string[] = ["description", "reason", "message"];

const isWords = (name: string, value: unknown): boolean => AGENT_WORDS.includes(name) && isString(value);

const wordsIn = (fields: Shape): string[] =>
  AGENT_WORDS.map((name) => fields[name])
    .filter((words) => isString(words) && words !== "")
    .map(String);

/** Fields of the request that are Franca's own. */
const OWN_FIELDS: readonly string[] = [
  "call_id",
  "deadline",
  "every_time",
  "input",
  "patterns",
  "remembered",
  "scope",
  "scopes",
  "tool",
];

function commandLines(command: string, paint: Paint): string[] {
  const [first = "", ...more] = visible(command).split("\n");
  return [`${paint.bold("$")} ${paint.bold(first)}`, ...more.map((line) => `  ${paint.bold(line)}`)];
}

export function diffLines(diff: string, paint: Paint): string[] {
  const lines = visible(diff.replace(/\n$/, "")).split("\n");
  return lines.map((line) => {
    if (line.startsWith("+")) return paint.green(line);
    if (line.startsWith("-")) return paint.red(line);
    return line.startsWith("@@") ? paint.cyan(line) : line;
  });
}

/** An unknown field may be the one that matters. */
function fieldsOf(fields: Shape, isShown: (name: string, value: unknown) => boolean): Field[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (isShown(name, value) || value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [{ name, text: isString(value) ? value : JSON.stringify(value, null, 2) }];
  });
}

function linesOfField({ name, text }: Field): string[] {
  const [first = "", ...more] = visible(text).split("\n");
  return [`${labelled(name)}: ${first}`, ...more.map((line) => `  ${line}`)];
}

const fieldLines = (fields: Shape, isShown: (name: string, value: unknown) => boolean): string[] =>
  fieldsOf(fields, isShown).flatMap(linesOfField);

/** A change that is asked for or made: the tool's input, and the diff where the agent computed one. */
export interface ChangeRequest {
  readonly input: unknown;
  readonly patterns: readonly string[];
  readonly diff?: unknown;
}

interface Changes {
  readonly diffs: readonly string[];
  /** The fields of the input that the diffs show whole. */
  readonly fields: readonly string[];
}

const NO_CHANGES: Changes = { diffs: [], fields: [] };

const PATHS = ["file_path", "filePath", "notebook_path", "path"];
const BEFORE = ["old_string", "oldString", "old_str"];
const AFTER = ["new_string", "newString", "new_str"];
const WHOLE = ["content", "new_source"];

/** The change as a diff: as the agent computed it, else from the old and the new text. */
export function changesIn(request: ChangeRequest): Changes {
  const input = shapeOf(request.input);
  const path = pick(input, PATHS);
  const named = path === null ? [] : [path.name];
  const file = path?.text ?? request.patterns[0] ?? "";
  const whole = pick(input, WHOLE);
  if (isString(request.diff)) {
    const texts = [pick(input, BEFORE), pick(input, AFTER), whole].flatMap((one) => (one === null ? [] : [one.name]));
    return { diffs: [request.diff], fields: ["diff", ...named, ...texts] };
  }
  const given = pick(input, ["diff", "patch", "patchText"]);
  if (given !== null) return { diffs: [given.text], fields: [given.name] };
  const { changes, edits } = input;
  if (isShape(changes) || (Array.isArray(changes) && changes.every(isShape)))
    return { diffs: codexDiffs(changes), fields: ["changes"] };
  if (Array.isArray(edits) && edits.every((edit) => replaced(file, edit) !== null)) {
    return { diffs: edits.map((edit) => replaced(file, edit)?.diff ?? ""), fields: ["edits", ...named] };
  }
  const one = replaced(file, input, { alone: true });
  if (one !== null) return { diffs: [one.diff], fields: [...named, ...one.fields] };
  if (whole === null || path === null) return NO_CHANGES;
  return { diffs: [diffOf({ path: file, before: "", after: whole.text })], fields: [...named, whole.name] };
}

/** Without the heading for patch files. */
const diffOf = (change: Parameters<typeof unifiedDiff>[0]): string =>
  unifiedDiff(change).replace(/^Index: .*\n=+\n/, "");

function pick(fields: Shape, names: readonly string[]): { readonly name: string; readonly text: string } | null {
  for (const name of names) {
    const text = fields[name];
    if (isString(text)) return { name, text };
  }
  return null;
}

/** One replacement. What else one of several says is written under it; a single one is the input itself. */
function replaced(path: string, edit: unknown, { alone } = { alone: false }) {
  const fields = shapeOf(edit);
  const before = pick(fields, BEFORE);
  const after = pick(fields, AFTER);
  if (before === null || after === null) return null;
  const used = [before.name, after.name];
  const diff = diffOf({ path, before: before.text, after: after.text });
  const more = alone ? [] : fieldLines(fields, (name) => used.includes(name));
  return { diff: `${diff}${more.map((line) => `${line}\n`).join("")}`, fields: used };
}

/** Codex lists its changes, or names them by path in older versions. What else it says of one is shown as it is. */
function codexDiffs(changes: Shape | readonly unknown[]): string[] {
  const list = isShape(changes) ? Object.entries(changes).map(([path, one]) => ({ path, ...shapeOf(one) })) : changes;
  return list.map((one) => {
    const { path, kind, type, ...more } = shapeOf(one);
    const text = pick(more, ["diff", "unified_diff", "content"]);
    const head = `${labelled(String(kind ?? type ?? "change"))} ${labelled(String(path))}`;
    const others = fieldLines(more, (name) => name === text?.name);
    return [head, ...others, text?.text ?? ""].join("\n");
  });
}

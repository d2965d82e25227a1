/** Describes a permission request and the scope of "always" as text. All clients use the same text. */
import type { Permission } from "../protocol/events.ts";
import { labelled } from "./visible.ts";

export interface OfferedScope {
  readonly scope: string;
  readonly always: string;
}

/** What a request is about: its files or address, else its title. The name of the tool is not repeated. */
export function subjectOf({ action, metadata }: Pick<Permission, "action" | "metadata">): string {
  const { patterns, tool, title } = metadata;
  const named = patterns.filter((pattern) => pattern !== action && pattern !== tool);
  return named.length === 0 && typeof title === "string" && title !== tool ? title : named.join(", ");
}

/** Whether "always" would allow more than this time. */
export const canRemember = ({ patterns, every_time = false }: Permission["metadata"]): boolean =>
  patterns.length > 0 && !every_time;

export const scopesOf = (permission: Permission): readonly OfferedScope[] =>
  (permission.metadata.scopes ?? []).map((scope) => ({ scope, always: allowedFromNowOn(permission, scope) }));

/** Describes what "always" allows: the exact action, or the broader scope that the user chose. */
export function allowedFromNowOn({ action, metadata }: Permission, scope?: string): string {
  const { patterns, tool } = metadata;
  if (scope !== undefined) return `${scopeWords(action, scope)}, in this session`;
  if (!canRemember(metadata)) return "nothing more than this time";
  const isTool = !subjects.has(action) && patterns.every((pattern) => pattern === tool || pattern === action);
  const words = isTool ? [`every use of ${quoted(patterns[0] ?? "")}`] : patterns.map((one) => exactWords(action, one));
  return `${[...new Set(words)].join(", and ")}, in this session`;
}

const quoted = (text: string): string => `\`${labelled(text)}\``;

const exactWords = (action: string, pattern: string): string =>
  `${subjects.get(action)?.exactly ?? labelled(action)} ${quoted(pattern)}`;

function scopeWords(action: string, pattern: string): string {
  const subject = subjects.get(action);
  if (subject === undefined) return `${labelled(action)} matching ${quoted(pattern)}`;
  return `${subject.many} ${subject.matching ?? "matching"} ${quoted(pattern)}`;
}

interface Subject {
  readonly many: string;
  readonly exactly: string;
  readonly matching?: string;
}

const commands: Subject = { many: "commands", exactly: "exactly the command" };
const edits: Subject = { many: "edits", exactly: "edits of", matching: "of files matching" };

const subjects: ReadonlyMap<string, Subject> = new Map([
  ["bash", commands],
  ["shell", commands],
  ["execute", commands],
  ["edit", edits],
  ["apply_patch", edits],
  ["read", { many: "reads", exactly: "reads of", matching: "of files matching" }],
  ["webfetch", { many: "requests", exactly: "requests to", matching: "to addresses matching" }],
  ["network", { many: "network access", exactly: "network access to", matching: "to" }],
  ["external_directory", { many: "paths", exactly: "the path" }],
  ["permissions", { many: "permissions", exactly: "access to" }],
]);

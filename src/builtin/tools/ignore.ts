/** The rules of `.gitignore` files, over paths with forward slashes. Pure. */
import { compileGlob, isSliceOver, type Meter } from "../../core/glob.ts";

export interface IgnoreRule {
  readonly matches: (path: string, meter: Meter) => boolean;
  readonly negated: boolean;
  readonly directoryOnly: boolean;
}

/** The rules of one ignore file; their paths are relative to its folder. Rules beyond `limit` are left out. */
export function readIgnoreFile(text: string, { limit = Infinity }: { limit?: number } = {}): IgnoreRule[] {
  const rules: IgnoreRule[] = [];
  for (const raw of text.split("\n")) {
    if (rules.length >= limit) break;
    const line = withoutTrailingSpace(raw);
    const rule = line === "" || line.startsWith("#") ? null : ignoreRule(line);
    if (rule !== null) rules.push(rule);
  }
  return rules;
}

/** White space at the end means nothing, unless a backslash stands before it. */
function withoutTrailingSpace(line: string): string {
  const trimmed = line.trimEnd();
  return trimmed.endsWith("\\") && trimmed.length < line.length ? line.slice(0, trimmed.length + 1) : trimmed;
}

function ignoreRule(line: string): IgnoreRule | null {
  const negated = line.startsWith("!");
  let pattern = negated ? line.slice(1) : line;
  const directoryOnly = pattern.endsWith("/");
  if (directoryOnly) pattern = pattern.slice(0, -1);
  if (pattern === "" || pattern === "/") return null;
  // A slash anywhere but at the end ties the pattern to its folder; without one it is about names at any depth.
  const anchored = pattern.includes("/");
  const glob = compileGlob(pattern.startsWith("/") ? pattern.slice(1) : pattern);
  if (glob === null) return null;
  const matches: IgnoreRule["matches"] = anchored
    ? glob.matches
    : (path, meter) => glob.matches(path.slice(path.lastIndexOf("/") + 1), meter);
  return { matches, negated, directoryOnly };
}

/** Ignore files from the outermost folder to the innermost, each with the path relative to its folder. */
export interface IgnoreLayer {
  readonly base: string;
  readonly rules: readonly IgnoreRule[];
}

export interface IgnoreQuestion {
  /** Relative to the walk's root, as the layers' bases are; `.` is the root. */
  readonly path: string;
  readonly directory: boolean;
  readonly meter: Meter;
}

/** Returns whether the path is ignored: the last rule that matches wins. Yields when it is time to pause. */
export function* judgeIgnored(
  layers: readonly IgnoreLayer[],
  { path, directory, meter }: IgnoreQuestion,
): Generator<void, boolean> {
  for (const { base, rules } of layers.toReversed()) {
    const inner = base === "" ? path : path.slice(base.length + 1);
    for (let index = rules.length - 1; index >= 0; index -= 1) {
      const rule = rules[index];
      if (rule === undefined || (rule.directoryOnly && !directory)) continue;
      if (rule.matches(inner, meter)) return !rule.negated;
      if (isSliceOver(meter)) yield;
    }
  }
  return false;
}

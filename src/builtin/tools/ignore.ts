/**
 * Patterns of `.gitignore` files and of the glob tool, as regular expressions over paths with forward slashes. Pure.
 */

export interface IgnoreRule {
  readonly matches: (path: string) => boolean;
  readonly negated: boolean;
  readonly directoryOnly: boolean;
}

/** The rules of one ignore file; their paths are relative to the folder it lies in. */
export function readIgnoreFile(text: string): IgnoreRule[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/(?<!\\)\s+$/, ""))
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap(ignoreRule);
}

function ignoreRule(line: string): IgnoreRule[] {
  const negated = line.startsWith("!");
  let pattern = negated ? line.slice(1) : line;
  const directoryOnly = pattern.endsWith("/");
  if (directoryOnly) pattern = pattern.slice(0, -1);
  if (pattern === "" || pattern === "/") return [];
  // A slash anywhere but at the end ties the pattern to its folder; without one it is about names at any depth.
  const anchored = pattern.includes("/");
  const expression = globExpression(`${anchored ? "" : "**/"}${pattern.replace(/^\//, "")}`);
  return expression === null ? [] : [{ matches: (path) => expression.test(path), negated, directoryOnly }];
}

/** Ignore files from the outermost folder to the innermost, each with the path relative to its folder. */
export interface IgnoreLayer {
  readonly base: string;
  readonly rules: readonly IgnoreRule[];
}

/**
 * `path` is relative to the walk's root, as the layers' bases are; `.` is the root. The last rule that matches wins.
 */
export function isIgnored(
  layers: readonly IgnoreLayer[],
  { path, directory }: { path: string; directory: boolean },
): boolean {
  for (const { base, rules } of layers.toReversed()) {
    const inner = base === "" ? path : path.slice(base.length + 1);
    const rule = rules.findLast((one) => (directory || !one.directoryOnly) && one.matches(inner));
    if (rule !== undefined) return !rule.negated;
  }
  return false;
}

/** Null when the pattern cannot be read (an unclosed bracket): then it matches nothing. */
export function globExpression(pattern: string): RegExp | null {
  try {
    return new RegExp(`^${globSource(pattern)}$`, "s");
  } catch {
    return null;
  }
}

function globSource(pattern: string): string {
  let source = "";
  let depth = 0;
  for (let index = 0; index < pattern.length; ) {
    const { text, length, opens } = globPiece(pattern, { index, depth });
    source += text;
    depth += opens;
    index += length;
  }
  if (depth !== 0) throw new Error("unclosed brace");
  return source;
}

interface Piece {
  readonly text: string;
  readonly length: number;
  readonly opens: number;
}

const piece = (text: string, length = 1, opens = 0): Piece => ({ text, length, opens });

function globPiece(pattern: string, { index, depth }: { index: number; depth: number }): Piece {
  const rest = pattern.slice(index);
  const atSegment = index === 0 || pattern[index - 1] === "/";
  if (atSegment && rest.startsWith("**/"))
    return piece("(?:.*/)?", 3 + (/^(?:\*\*\/)*/.exec(rest.slice(3))?.[0].length ?? 0));
  if (rest.startsWith("**")) return piece(".*", /^\*+/.exec(rest)?.[0].length ?? 2);
  const character = rest.charAt(0);
  switch (character) {
    case "*":
      return piece("[^/]*");
    case "?":
      return piece("[^/]");
    case "{":
      return piece("(?:", 1, 1);
    case "}":
      return depth > 0 ? piece(")", 1, -1) : piece("\\}");
    case ",":
      return piece(depth > 0 ? "|" : ",");
    case "[": {
      const set = /^\[(!|\^)?(\]?[^\]]*)\]/.exec(rest);
      if (set === null) return piece("\\[");
      return piece(`[${set[1] === undefined ? "" : "^"}${(set[2] ?? "").replace(/[\\[]/g, "\\$&")}]`, set[0].length);
    }
    case "\\":
      return piece(literal(rest.charAt(1) || "\\"), 2);
    default:
      return piece(literal(character));
  }
}

const literal = (character: string): string => character.replace(/[.+^${}()|[\]\\*?/-]/, "\\$&");

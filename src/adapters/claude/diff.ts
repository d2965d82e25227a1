/** Unified diffs: from the patch Claude Code sends, or made from the old and the new text where it sends none. */
import { isNumber, isShape, isString } from "../../dialects/shape.ts";

/** Above it a diff is left out: the arguments of the call hold the same text already. */
const DIFF_LIMIT = 256 * 1024;

/** From `structuredPatch`: hunks with their lines already marked. */
export function patchDiff({ path, hunks }: { path: string; hunks: unknown }): string | null {
  if (!Array.isArray(hunks) || hunks.length === 0) return null;
  const out: string[] = [];
  for (const hunk of hunks) {
    if (!isShape(hunk) || !Array.isArray(hunk.lines)) return null;
    const lines = hunk.lines.filter(isString);
    const from = range(hunk.oldStart, hunk.oldLines);
    const to = range(hunk.newStart, hunk.newLines);
    out.push(`@@ -${from} +${to} @@`, ...lines);
  }
  return bounded(`${header(path)}${out.join("\n")}\n`);
}

/** What changed between two texts as one hunk, without the lines they share at both ends but for a little context. */
export function textDiff({ path, before, after }: { path: string; before: string; after: string }): string | null {
  if (before === after || before.length + after.length > DIFF_LIMIT) return null;
  const old = linesOf(before);
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const start = Math.max(0, head - CONTEXT);
  const end = Math.max(0, tail - CONTEXT);
  const lines = [
    ...old.slice(start, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, old.length - end).map((line) => ` ${line}`),
  ];
  const from = range(old.length === 0 ? 0 : start + 1, old.length - start - end);
  const to = range(now.length === 0 ? 0 : start + 1, now.length - start - end);
  return bounded(`${header(path)}@@ -${from} +${to} @@\n${lines.join("\n")}\n`);
}

const CONTEXT = 3;

const header = (path: string): string => `--- ${path}\n+++ ${path}\n`;

const range = (start: unknown, count: unknown): string =>
  `${isNumber(start) ? start : 1},${isNumber(count) ? count : 0}`;

const bounded = (diff: string): string | null => (diff.length > DIFF_LIMIT ? null : diff);

function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Unified diffs of edits, where the agent reports only the old and the new text. */

const CONTEXT_LINES = 3;

/** One hunk around what changed. Line numbers are those of the given texts: the rest of the file is not known. */
export function unifiedDiff({ path, before, after }: { path: string; before: string; after: string }): string {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail += 1;
  }
  const from = Math.max(0, head - CONTEXT_LINES);
  const keep = Math.min(tail, CONTEXT_LINES);
  const oldEnd = old.length - tail;
  const freshEnd = fresh.length - tail;
  const body = [
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, oldEnd).map((line) => `-${line}`),
    ...fresh.slice(head, freshEnd).map((line) => `+${line}`),
    ...old.slice(oldEnd, oldEnd + keep).map((line) => ` ${line}`),
  ];
  const range = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`;
  const hunk = `@@ -${range(from, oldEnd + keep - from)} +${range(from, freshEnd + keep - from)} @@`;
  return `Index: ${path}\n${"=".repeat(67)}\n--- ${path}\n+++ ${path}\n${hunk}\n${body.join("\n")}\n`;
}

export function countChanges(patch: string): { readonly additions: number; readonly deletions: number } {
  let additions = 0;
  let deletions = 0;
  for (const line of patch.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++")) additions += 1;
    if (line.startsWith("-") && !line.startsWith("---")) deletions += 1;
  }
  return { additions, deletions };
}

/** A final newline ends the last line; it does not begin another. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Unified diffs of what a tool changed, for people who are asked and for clients that show it. Pure. */

const CONTEXT_LINES = 3;
/** Cells of the comparison table; beyond it the changed middle is shown as one block. */
const TABLE_LIMIT = 4_000_000;
export const DIFF_LIMIT = 100_000;

type Edit = { readonly kind: " " | "-" | "+"; readonly line: string };

export function unifiedDiff({ path, before, after }: { path: string; before: string; after: string }): string {
  if (before === after) return "";
  const edits = compare(linesOf(before), linesOf(after));
  const hunks = hunksOf(edits);
  const head = `--- ${before === "" ? "/dev/null" : `a/${path}`}\n+++ b/${path}\n`;
  const text = head + hunks.join("");
  return text.length <= DIFF_LIMIT ? text : `${text.slice(0, DIFF_LIMIT)}\n[… the rest of the diff is left out …]\n`;
}

/** A last line without a newline keeps a mark, so that adding one shows. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") return lines.slice(0, -1);
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""}\n\\ No newline at end of file`];
}

function compare(before: readonly string[], after: readonly string[]): Edit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: " ", line }));
  return [
    ...same(before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Edit[] {
  const removed = before.map((line): Edit => ({ kind: "-", line }));
  const added = after.map((line): Edit => ({ kind: "+", line }));
  if (before.length === 0 || after.length === 0 || before.length * after.length > TABLE_LIMIT) {
    return [...removed, ...added];
  }
  const width = after.length + 1;
  // The longest common sequence from each pair of places to the end.
  const table = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => table[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      table[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const out: Edit[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      out.push({ kind: " ", line: before[row] ?? "" });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      out.push(removed[row] ?? { kind: "-", line: "" });
      row += 1;
    } else {
      out.push(added[column] ?? { kind: "+", line: "" });
      column += 1;
    }
  }
  return [...out, ...removed.slice(row), ...added.slice(column)];
}

function hunksOf(edits: readonly Edit[]): string[] {
  const hunks: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let index = 0;
  while (index < edits.length) {
    if (edits[index]?.kind === " ") {
      index += 1;
      oldLine += 1;
      newLine += 1;
      continue;
    }
    const start = Math.max(0, index - CONTEXT_LINES);
    const end = hunkEnd(edits, index);
    const slice = edits.slice(start, end);
    const back = index - start;
    const counts = {
      old: slice.filter(({ kind }) => kind !== "+").length,
      new: slice.filter(({ kind }) => kind !== "-").length,
    };
    const from = `-${place(oldLine - back, counts.old)} +${place(newLine - back, counts.new)}`;
    hunks.push(`@@ ${from} @@\n${slice.map(({ kind, line }) => `${kind}${line}\n`).join("")}`);
    oldLine += counts.old - back;
    newLine += counts.new - back;
    index = end;
  }
  return hunks;
}

/** A hunk goes on while the next change is near. */
function hunkEnd(edits: readonly Edit[], first: number): number {
  let last = first;
  for (let index = first; index < edits.length && index - last <= 2 * CONTEXT_LINES; index += 1) {
    if (edits[index]?.kind !== " ") last = index;
  }
  return Math.min(edits.length, last + 1 + CONTEXT_LINES);
}

const place = (line: number, count: number): string => `${count === 0 ? line - 1 : line},${count}`;

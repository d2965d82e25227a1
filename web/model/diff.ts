/** A unified diff as rows with line numbers, and what changed inside a changed line. */
export type DiffRow =
  | { readonly type: "hunk"; readonly text: string }
  | { readonly type: "same"; readonly before: number; readonly after: number; readonly text: string }
  | { readonly type: "removed"; readonly before: number; readonly text: string; readonly mark: Mark | null }
  | { readonly type: "added"; readonly after: number; readonly text: string; readonly mark: Mark | null };

/** The part of a line that differs from its counterpart. */
export interface Mark {
  readonly from: number;
  readonly to: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

/** Lines before the first hunk (file names, `Index:`) are not shown: the card names the file. */
export function diffRows(diff: string): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      before = Number(hunk[1]);
      after = Number(hunk[3]);
      inHunk = true;
      rows.push({ type: "hunk", text: line });
      continue;
    }
    if (!inHunk || line.startsWith("\\")) continue;
    if (line.startsWith("+")) rows.push({ type: "added", after: after++, text: line.slice(1), mark: null });
    else if (line.startsWith("-")) rows.push({ type: "removed", before: before++, text: line.slice(1), mark: null });
    else rows.push({ type: "same", before: before++, after: after++, text: line.slice(1) });
  }
  return marked(rows);
}

/** Pairs removed lines with the added ones that follow, and marks what differs in each pair. */
function marked(rows: readonly DiffRow[]): readonly DiffRow[] {
  const out = [...rows];
  for (let index = 0; index < out.length; index += 1) {
    if (out[index]?.type !== "removed") continue;
    let middle = index;
    while (out[middle]?.type === "removed") middle += 1;
    let end = middle;
    while (out[end]?.type === "added") end += 1;
    const pairs = Math.min(middle - index, end - middle);
    for (let pair = 0; pair < pairs; pair += 1) markPair(out, index + pair, middle + pair);
    index = end - 1;
  }
  return out;
}

function markPair(rows: DiffRow[], removedAt: number, addedAt: number): void {
  const removed = rows[removedAt];
  const added = rows[addedAt];
  if (removed?.type !== "removed" || added?.type !== "added") return;
  const longest = Math.min(removed.text.length, added.text.length);
  let head = 0;
  while (head < longest && removed.text[head] === added.text[head]) head += 1;
  let tail = 0;
  while (tail < longest - head && removed.text.at(-1 - tail) === added.text.at(-1 - tail)) tail += 1;
  // Lines with nothing in common are two lines, not one that changed.
  if (head + tail === 0) return;
  rows[removedAt] = { ...removed, mark: { from: head, to: removed.text.length - tail } };
  rows[addedAt] = { ...added, mark: { from: head, to: added.text.length - tail } };
}

export interface DiffCount {
  readonly added: number;
  readonly removed: number;
}

export function diffCount(diff: string): DiffCount {
  const rows = diffRows(diff);
  const of = (type: DiffRow["type"]): number => rows.filter((row) => row.type === type).length;
  return { added: of("added"), removed: of("removed") };
}

/** A diff with line numbers and signs; what changed inside a line is marked. */
import { useSignal } from "@preact/signals";
import { type DiffRow, diffCount, diffRows, type Mark } from "../model/diff.ts";
import { exactText } from "../model/plain.ts";

const FIRST_ROWS = 400;

/** `whole`: never shortened, because somebody is about to allow it. */
export function Diff({ diff, whole = false }: { readonly diff: string; readonly whole?: boolean }) {
  const all = useSignal(whole);
  const rows = diffRows(diff);
  const shown = all.value ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <div class="diff" role="group" aria-label="Changes" tabIndex={0}>
      <div class="lines">
        {shown.map((row, index) => (
          <Line key={index} row={row} />
        ))}
      </div>
      {shown.length < rows.length && (
        <button
          type="button"
          class="btn ghost"
          onClick={() => {
            all.value = true;
          }}
        >
          Open all {rows.length} lines
        </button>
      )}
    </div>
  );
}

function Line({ row }: { readonly row: DiffRow }) {
  switch (row.type) {
    case "hunk":
      return <div class="h">{exactText(row.text)}</div>;
    case "same":
      return (
        <div>
          <i>{row.before}</i>
          <i>{row.after}</i>
          <u />
          <span>{exactText(row.text)}</span>
        </div>
      );
    case "removed":
      return (
        <div class="d">
          <i>{row.before}</i>
          <i />
          <u>-</u>
          <span>{marked(row.text, row.mark)}</span>
        </div>
      );
    case "added":
      return (
        <div class="a">
          <i />
          <i>{row.after}</i>
          <u>+</u>
          <span>{marked(row.text, row.mark)}</span>
        </div>
      );
  }
}

function marked(text: string, mark: Mark | null) {
  if (mark === null || mark.from >= mark.to) return exactText(text);
  return (
    <>
      {exactText(text.slice(0, mark.from))}
      <mark>{exactText(text.slice(mark.from, mark.to))}</mark>
      {exactText(text.slice(mark.to))}
    </>
  );
}

/** `+3 −1`; nothing for a diff that changes no line. */
export function DiffCount({ diff }: { readonly diff: string }) {
  const { added, removed } = diffCount(diff);
  return (
    <span class="num">
      {added > 0 && <span class="added">+{added}</span>}
      {added > 0 && removed > 0 && " "}
      {removed > 0 && <span class="removed">−{removed}</span>}
    </span>
  );
}

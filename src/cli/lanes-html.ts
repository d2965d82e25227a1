/** Lanes as a page that needs nothing but itself. */
import type { LaneRow } from "../core/lanes.ts";

const style = `
  :root { color-scheme: light dark; font: 13px/1.45 ui-monospace, monospace; }
  body { margin: 1.5rem; }
  h1 { font-size: 1.1rem; }
  table { border-collapse: collapse; width: 100%; table-layout: fixed; }
  th { text-align: left; position: sticky; top: 0; background: Canvas; border-bottom: 2px solid; padding: 4px 8px; }
  td { padding: 2px 8px; vertical-align: top; overflow-wrap: anywhere; border-bottom: 1px solid #8883; }
  td.line { text-align: right; opacity: .6; }
  tr.busy td.line { border-right: 4px solid #d90; }
  td.native { color: #07a; } td.opencode { color: #083; } td.takopi { color: #83a; } td.why { opacity: .6; }
  tr.edge td.opencode { font-weight: bold; color: #b60; }
  @media (prefers-color-scheme: dark) {
    td.native { color: #6cf; } td.opencode { color: #7d9; } td.takopi { color: #c9e; }
    tr.edge td.opencode { color: #fb4; }
  }`;

const columns = ["native", "universal", "opencode", "takopi", "why"];

export function drawHtml({ rows, title }: { readonly rows: readonly LaneRow[]; readonly title: string }): string {
  const head = ["line", ...columns].map((name) => `<th scope="col">${name}</th>`).join("");
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)}</title><style>${style}
</style></head>
<body>
<h1>${escaped(title)}</h1>
<p>The bar beside the line number is a turn: where it is drawn, the session is busy.</p>
<table>
<colgroup><col style="width:4em"><col><col><col><col><col style="width:14em"></colgroup>
<thead><tr>${head}</tr></thead>
<tbody>
${rows.map(drawRow).join("\n")}
</tbody>
</table>
</body>
</html>
`;
}

function drawRow({ line, native, universal, cells, busy, why }: LaneRow): string {
  const edge = cells.some((cell) => /session\.(status|idle)/.test(cell));
  const names = [busy ? "busy" : "", edge ? "edge" : ""].filter((name) => name !== "").join(" ");
  const texts = [native, universal, ...cells, why];
  const tds = texts.map((text, index) => `<td class="${columns[index] ?? ""}">${escaped(text)}</td>`).join("");
  return `<tr class="${names}"><td class="line">${native === "" ? "" : (line ?? "")}</td>${tds}</tr>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);

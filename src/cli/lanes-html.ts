/** Lanes as a page that needs nothing but itself. */
import type { Lane, LaneRow } from "../core/lanes.ts";

/** The dialects' colours on a light and on a dark page, again from the first where there are more of them. */
const colors = [
  { light: "#083", dark: "#7d9" },
  { light: "#83a", dark: "#c9e" },
  { light: "#15b", dark: "#8bf" },
] as const;

const styleOf = (lanes: readonly Lane[]): string => `
  :root { color-scheme: light dark; font: 13px/1.45 ui-monospace, monospace; }
  body { margin: 1.5rem; }
  h1 { font-size: 1.1rem; }
  table { border-collapse: collapse; width: 100%; table-layout: fixed; }
  th { text-align: left; position: sticky; top: 0; background: Canvas; border-bottom: 2px solid; padding: 4px 8px; }
  td { padding: 2px 8px; vertical-align: top; overflow-wrap: anywhere; border-bottom: 1px solid #8883; }
  td.line { text-align: right; opacity: .6; }
  tr.busy td.line { border-right: 4px solid #d90; }
  td.native { color: #07a; } td.why { opacity: .6; }
  ${paintedIn("light", lanes)}
  td.edge { font-weight: bold; color: #b60; }
  @media (prefers-color-scheme: dark) {
    td.native { color: #6cf; }
    ${paintedIn("dark", lanes)}
    td.edge { color: #fb4; }
  }`;

const paintedIn = (scheme: "light" | "dark", lanes: readonly Lane[]): string =>
  lanes.map(({ name }, index) => `td.${name} { color: ${colors[index % colors.length]?.[scheme]}; }`).join(" ");

interface Page {
  readonly lanes: readonly Lane[];
  readonly rows: readonly LaneRow[];
  readonly title: string;
}

export function drawHtml({ lanes, rows, title }: Page): string {
  const head = ["line", "native", "universal", ...lanes.map(({ name }) => name), "why"]
    .map((name) => `<th scope="col">${name}</th>`)
    .join("");
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)}</title><style>${styleOf(lanes)}
</style></head>
<body>
<h1>${escaped(title)}</h1>
<p>The bar beside the line number is a turn: where it is drawn, the session is busy.</p>
<table>
<colgroup><col style="width:4em"><col><col>${lanes.map(() => "<col>").join("")}<col style="width:14em"></colgroup>
<thead><tr>${head}</tr></thead>
<tbody>
${rows.map((row) => drawRow(lanes, row)).join("\n")}
</tbody>
</table>
</body>
</html>
`;
}

function drawRow(lanes: readonly Lane[], { line, native, universal, cells, busy, why }: LaneRow): string {
  const dialects = lanes.map(({ name }, index) => {
    const cell = cells[index];
    return drawCell(cell?.isEdge ? `${name} edge` : name, cell?.text ?? "");
  });
  const tds = [drawCell("native", native), drawCell("universal", universal), ...dialects, drawCell("why", why)];
  const number = native === "" ? "" : (line ?? "");
  return `<tr class="${busy ? "busy" : ""}"><td class="line">${number}</td>${tds.join("")}</tr>`;
}

const drawCell = (name: string, text: string): string => `<td class="${name}">${escaped(text)}</td>`;

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);

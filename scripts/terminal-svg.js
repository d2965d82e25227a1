/** Screens of a terminal as an animated SVG: each screen is a group that is visible for its time. */

const CELL = { width: 8.4, height: 19 };
const PADDING = 16;
const BAR = 34;
const COLORS = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  36: "#79c0ff",
  90: "#8b949e",
};
const TEXT = "#e6edf3";
const DIM = "#8b949e";
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** `screens`: `{ at, text }` with milliseconds from the beginning and the lines with their colours. */
export function terminalSvg({ screens, columns, rows, title, holdMs }) {
  const width = Math.ceil(columns * CELL.width + 2 * PADDING);
  const height = rows * CELL.height + 2 * PADDING + BAR;
  const last = screens.at(-1);
  const total = last.at + holdMs;
  const frames = screens.map(({ at, text }, index) => {
    const end = screens[index + 1]?.at ?? total;
    return { lines: text.split("\n"), from: (100 * at) / total, to: (100 * end) / total };
  });
  const styles = frames.map(({ from, to }, index) => keyframes({ index, from, to })).join("\n");
  const groups = frames.map(({ lines }, index) => `<g class="s s${index}">${drawn(lines)}</g>`).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
text { font: 14px ${FONT}; white-space: pre; fill: ${TEXT}; }
.s { visibility: hidden; animation-duration: ${total}ms; animation-iteration-count: infinite; animation-timing-function: steps(1, end); }
${styles}
@media (prefers-reduced-motion: reduce) { .s { animation: none; } .s${frames.length - 1} { visibility: visible; } }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/><circle cx="60" cy="18" r="6" fill="#28c840"/>
${groups}
</svg>
`;
}

function keyframes({ index, from, to }) {
  const [start, end] = [from.toFixed(3), to.toFixed(3)];
  const before = from > 0 ? "0% { visibility: hidden; } " : "";
  const after = to < 100 ? ` ${end}% { visibility: hidden; } 100% { visibility: hidden; }` : "";
  return `@keyframes k${index} { ${before}${start}% { visibility: visible; }${after} } .s${index} { animation-name: k${index}; }`;
}

/** Colours go on from one line to the next. */
function drawn(lines) {
  const style = {};
  return lines.map((text, row) => line(text, { row, style })).join("");
}

/** One line: a run of text for every change of colour, each at its own column. */
function line(text, { row, style: open }) {
  const y = (BAR + PADDING + row * CELL.height + 6).toFixed(1);
  let column = 0;
  return runs(text, open)
    .map(({ text: piece, style }) => {
      const x = (PADDING + column * CELL.width).toFixed(1);
      const length = [...piece].length;
      column += length;
      if (piece.trim() === "") return "";
      const size = ` textLength="${(length * CELL.width).toFixed(1)}"`;
      return `<text x="${x}" y="${y}"${size}${attributes(style)}>${escaped(piece)}</text>`;
    })
    .join("");
}

function attributes({ color, bold, dim }) {
  const fill = dim ? DIM : color;
  const rules = [...(fill === undefined ? [] : [`fill:${fill}`]), ...(bold ? ["font-weight:bold"] : [])];
  return rules.length === 0 ? "" : ` style="${rules.join(";")}"`;
}

function runs(text, style) {
  const out = [];
  let from = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal are made of them.
  for (const match of text.matchAll(/\u001b\[([\d;]*)m/g)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), style: { ...style } });
    from = match.index + match[0].length;
    for (const code of (match[1] || "0").split(";").map(Number)) apply(style, code);
  }
  if (from < text.length) out.push({ text: text.slice(from), style: { ...style } });
  return out;
}

function apply(style, code) {
  if (code === 0) for (const name of Object.keys(style)) delete style[name];
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 22) Object.assign(style, { bold: false, dim: false });
  else if (code === 39) delete style.color;
  else if (COLORS[code] !== undefined) style.color = COLORS[code];
}

const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

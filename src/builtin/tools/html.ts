/**
 * HTML → readable text: headings, lists, links and code survive; scripts, styles and markup do not. One pass over the
 * text, because pages come from strangers and an expression that runs wild would hold up everyone. Pure.
 */
import { lookUp } from "../../core/look-up.ts";

/** Elements whose content nobody reads. */
const dropped: ReadonlySet<string> = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "head",
  "title",
]);
const blocks: ReadonlySet<string> = new Set([
  ..."p div section article main header footer nav aside ul ol table tr form blockquote figure dl dt dd hr br".split(
    " ",
  ),
]);
const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
  rarr: "→",
  larr: "←",
};
/** A tag longer than this is no tag. */
const TAG_LIMIT = 10_000;

interface Page {
  readonly out: string[];
  /** Where the open links lead. */
  readonly links: string[];
  pre: boolean;
  /** The next `>`: looked for once, not again from every `<`. */
  close: number;
}

export function htmlToText(html: string): string {
  const lower = html.toLowerCase();
  const page: Page = { out: [], links: [], pre: false, close: -1 };
  for (let at = 0; at < html.length; ) at = readPiece(page, { html, lower, at });
  const body = page.out
    .join("")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
    .replaceAll(SPACE, " ")
    .replaceAll(BREAK, "\n");
  const title = titleOf(html, lower);
  return title === "" ? body : `# ${title}\n\n${body}`;
}

/** White space of preformatted text, while the rest is tidied up: characters that no text has. */
const SPACE = "\u{F0000}";
const BREAK = "\u{F0001}";
const guarded = (text: string): string => text.replaceAll("\r", "").replaceAll(" ", SPACE).replaceAll("\n", BREAK);

interface Place {
  readonly html: string;
  readonly lower: string;
  readonly at: number;
}

function readPiece(page: Page, { html, lower, at }: Place): number {
  if (html.charAt(at) !== "<") {
    const next = html.indexOf("<", at);
    const end = next < 0 ? html.length : next;
    const text = decode(html.slice(at, end));
    page.out.push(page.pre ? guarded(text) : text.replace(/\s+/g, " "));
    return end;
  }
  if (html.startsWith("<!--", at)) return after(html, { mark: "-->", from: at + 4 });
  if (page.close < at) page.close = indexOrEnd(html, at);
  const end = page.close;
  const tag = /^<(\/?)([a-z][a-z0-9]*)/.exec(lower.slice(at, at + 32));
  if (end - at > TAG_LIMIT || end >= html.length || tag === null) {
    // A bare `<` in a text, or a doctype.
    if (tag === null && lower.startsWith("<!", at) && end < html.length) return end + 1;
    page.out.push("<");
    return at + 1;
  }
  const [, slash = "", name = ""] = tag;
  if (slash === "" && dropped.has(name)) return after(lower, { mark: `</${name}`, from: end, through: ">" });
  writeTag(page, { name, closing: slash !== "", source: html.slice(at, end) });
  return end + 1;
}

function indexOrEnd(html: string, at: number): number {
  const found = html.indexOf(">", at);
  return found < 0 ? html.length : found;
}

function writeTag(page: Page, { name, closing, source }: { name: string; closing: boolean; source: string }): void {
  const { out, links } = page;
  if (name === "pre") {
    page.pre = !closing;
    out.push("\n```\n");
  } else if (name === "code") {
    if (!page.pre) out.push("`");
  } else if (/^h[1-6]$/.test(name)) {
    out.push(closing ? "\n\n" : `\n\n${"#".repeat(Number(name.charAt(1)))} `);
  } else if (name === "li") {
    out.push(closing ? "" : "\n- ");
  } else if (name === "a") {
    if (closing) out.push(linkEnd(links.pop() ?? ""));
    else openLink(page, source);
  } else if (blocks.has(name)) {
    out.push("\n");
  }
}

function openLink({ out, links }: Page, source: string): void {
  const target = decode(/href\s*=\s*["']?([^"'\s>]*)/i.exec(source)?.[1] ?? "");
  const shown = target.startsWith("#") || /^javascript:/i.test(target) ? "" : target;
  links.push(shown);
  if (shown !== "") out.push("[");
}

const linkEnd = (target: string): string => (target === "" ? "" : `](${target})`);

function after(text: string, { mark, from, through }: { mark: string; from: number; through?: string }): number {
  const found = text.indexOf(mark, from);
  if (found < 0) return text.length;
  if (through === undefined) return found + mark.length;
  const end = text.indexOf(through, found);
  return end < 0 ? text.length : end + 1;
}

function titleOf(html: string, lower: string): string {
  const start = lower.indexOf("<title");
  const open = start < 0 ? -1 : lower.indexOf(">", start);
  const end = open < 0 ? -1 : lower.indexOf("</title", open);
  return end < 0
    ? ""
    : decode(html.slice(open + 1, end))
        .replace(/\s+/g, " ")
        .trim();
}

function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{1,10});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return lookUp(entities, name.toLowerCase()) ?? whole;
    const hex = name.charAt(1).toLowerCase() === "x";
    const code = Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

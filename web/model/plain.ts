/** What an agent sent, as text that shows what is in it: no control character acts, and none is hidden. */
import { visible } from "../../src/core/visible.ts";

// Spaces of other widths, joiners between letters and emoji are ordinary text; in an approval they are written out too.
const ORDINARY = new Set("\u00ad\u200c\u200d");
const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Colours and cursor movements of terminals: an output shows its words without them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ANSI = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

/** Words of an agent: direction marks and control characters become visible escapes. */
export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (character) => (ORDINARY.has(character) || isTag(character) ? character : visible(character)));

/** The parts of flag emoji. */
const isTag = (character: string): boolean => {
  const code = character.codePointAt(0) ?? 0;
  return code >= 0xe0020 && code <= 0xe007f;
};

/** Output of a command: as a terminal would show it, without its colours. */
export function outputText(text: string): string {
  const lines = text.replace(ANSI, "").replaceAll("\r\n", "\n").split("\n");
  return visibleText(lines.map(lastWritten).join("\n"));
}

/** Returns what remains visible of a line whose carriage returns made the terminal write over its beginning. */
function lastWritten(line: string): string {
  const at = line.lastIndexOf("\r", line.length - 2);
  return at === -1 || line.length < 2 ? line : line.slice(at + 1);
}

/** Names of files and folders on one line: hidden characters, line breaks and tabs are written out. */
export const nameText = (name: string): string => visible(name).replaceAll("\n", "\\n").replaceAll("\t", "\\t");

/** What is to be approved: everything that leaves no mark is written out. */
export { visible as exactText };

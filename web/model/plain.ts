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
export const outputText = (text: string): string =>
  visibleText(
    text
      .replace(ANSI, "")
      .replaceAll("\r\n", "\n")
      .replaceAll(/[^\n]*\r(?=[^\n])/g, ""),
  );

/** What is to be approved: everything that leaves no mark is written out. */
export { visible as exactText };

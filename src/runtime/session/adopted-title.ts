/** A title out of an agent's files: one line, bounded, and without characters that change what a terminal shows. */

const LONGEST = 200;
const HIDDEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029]+/gu;

export function cleanTitle(title: string | null): string | null {
  if (title === null) return null;
  const line = title
    .slice(0, LONGEST * 4)
    .replace(/\s+/g, " ")
    .replace(HIDDEN, "")
    .trim();
  if (line === "") return null;
  const letters = [...line];
  return letters.length <= LONGEST ? line : `${letters.slice(0, LONGEST - 1).join("")}…`;
}

/** The words of a command line. */

/** Splits a command line as a POSIX shell would, without expanding anything. */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote === "'" || (quote === '"' && char !== "\\")) {
      if (char === quote) quote = "";
      else word = (word ?? "") + char;
    } else if (char === "\\") {
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === " " || char === "\n" || char === "\t") {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (word !== null) words.push(word);
  return words;
}

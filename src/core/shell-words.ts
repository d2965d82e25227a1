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

/** The command line of a list of words, quoted so that a shell reads the same words. */
export const joinWords = (words: readonly string[]): string => words.map(quoted).join(" ");

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The script inside a shell wrapper (`["/bin/bash", "-lc", "…"]`), or null. */
export function wrappedScript(words: readonly string[]): string | null {
  const [shell = "", flags = "", script] = words;
  const isWrapper = words.length === 3 && /(^|\/)(ba|z|da|k)?sh$/.test(shell) && /^-l?c$/.test(flags);
  return isWrapper && script !== undefined ? script : null;
}

/** Codex wraps what it runs in a login shell (`/bin/bash -lc '…'`); people want to read what is inside. */

/** The script inside the shell wrapper, or the command as it is. */
export function unwrapped(command: string): string {
  const words = shellWords(command);
  const [shell, flags, script] = words;
  const isWrapper = words.length === 3 && /(^|\/)(ba|z|da|k)?sh$/.test(shell ?? "") && /^-l?c$/.test(flags ?? "");
  return isWrapper && script !== undefined ? script : command;
}

/** Splits a command line as a POSIX shell would, without expanding anything. */
function shellWords(line: string): string[] {
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

/** Codex wraps what it runs in a login shell (`/bin/bash -lc '…'`); people want to read what is inside. */
import { shellWords } from "../../core/shell-words.ts";

/** The script inside the shell wrapper, or the command as it is. */
export function unwrapped(command: string): string {
  const words = shellWords(command);
  const [shell, flags, script] = words;
  const isWrapper = words.length === 3 && /(^|\/)(ba|z|da|k)?sh$/.test(shell ?? "") && /^-l?c$/.test(flags ?? "");
  return isWrapper && script !== undefined ? script : command;
}

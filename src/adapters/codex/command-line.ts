/** Codex wraps what it runs in a login shell (`/bin/bash -lc '…'`); people want to read what is inside. */
import { joinWords, shellWords, wrappedScript } from "../../core/shell-words.ts";

/** The script inside the shell wrapper, or the command as it is. */
export const unwrapped = (command: string): string => wrappedScript(shellWords(command)) ?? command;

/** The same for a command that is a list of words. */
export const commandLine = (words: readonly string[]): string => wrappedScript(words) ?? joinWords(words);

/** The command line of the agent `acp`, which is whatever program its user names. */
import { shellWords } from "./shell-words.ts";

export const ACP_AGENT = "acp";

/** A session's own command, in its environment; as a variable of ours it is the setting `acpCommand`. */
export const COMMAND_VARIABLE = "FRANCA_ACP_COMMAND";

/** Why a command line cannot be used; null when it can. */
export function commandProblem(line: string): string | null {
  const [program] = shellWords(line);
  if (program === undefined || program === "") return "the command names no program";
  // A relative path is looked up in the session's folder, whose files would then choose what runs.
  if (program.includes("/") && !program.startsWith("/")) {
    return `${program} is relative: give the program's name on PATH, or its absolute path`;
  }
  return null;
}

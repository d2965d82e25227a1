/** Parses a bash command line into the simple commands it runs and the paths it names. Pure. */
import type { InspectedCommand, PathAccess } from "./inspection.ts";

/** A word or redirection target that may name a file. */
export interface CandidatePath {
  readonly written: string;
  readonly access: PathAccess;
  /** Whether the word is a path by its form. Otherwise it counts only if such a file exists. */
  readonly certain: boolean;
  /** Arguments of the `cd` commands in force, in order. Relative paths are resolved from there. */
  readonly folders: readonly string[];
}

export interface ShellCommand {
  readonly commands: readonly InspectedCommand[];
  readonly paths: readonly CandidatePath[];
  /** Why the command line was not fully understood, or null. */
  readonly opaque: string | null;
}

export function parseShellCommand(text: string): ShellCommand {
  const words = text.trim().split(/[ \t]+/);
  const opaque = /^[\w./ \t-]+$/.test(text) ? null : "The command is not simple.";
  const paths = words.slice(1).map((written) => ({
    written,
    access: "unknown" as const,
    certain: written.includes("/"),
    folders: [],
  }));
  return { commands: [{ text: words.join(" "), spellings: [], runsText: false }], paths, opaque };
}

/** What the table of commands expects of a command, and what it gives to it. */
import type { Command } from "commander";

/** What a command's file exports: it adds options, arguments and the action to the command it is given. */
export interface CommandModule {
  readonly define: (command: Command, context: CommandContext) => void;
}

export interface CommandContext {
  /** Every command with its options, for what describes them all: completion and the manual page. */
  readonly wholeProgram: () => Promise<Command>;
}

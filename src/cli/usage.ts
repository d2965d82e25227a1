/** Wrong usage: what was typed or configured cannot be meant so. Ends the command with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command could not do its work, for a reason the user can fix. Ends it with exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

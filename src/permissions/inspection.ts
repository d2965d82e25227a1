/**
 * The facts a permission decision is based on. The edge parses the command and resolves the paths; the turn machine and
 * the rule engine only read the result. Pure.
 */

/** The action behind a permission request, taken from the tool's input and never from the agent's suggestions. */
export type RequestedAction =
  | {
      readonly kind: "command";
      readonly command: string;
      /** Working folder of the command, if it is not the session's folder. */
      readonly directory?: string | undefined;
    }
  | { readonly kind: "paths"; readonly access: PathAccess; readonly paths: readonly string[] }
  | { readonly kind: "url"; readonly url: string }
  /** A tool without a command, path or address, for example an MCP tool. Rules match its name. */
  | { readonly kind: "tool" }
  /** The agent did not send what it wants to do. No rule allows it. */
  | { readonly kind: "unknown" };

export type PathAccess = "read" | "write" | "unknown";

/** One path that the action names. */
export interface InspectedPath {
  /** The path as written in the command or tool input. */
  readonly written: string;
  /** The real absolute path: symlinks of the nearest existing parent are resolved. */
  readonly path: string;
  /** Whether the real path is inside the session's folder. */
  readonly inside: boolean;
  readonly access: PathAccess;
  /** Whether the file, as written or as resolved, can run code by itself (hooks, editor and agent settings). */
  readonly runsCode: boolean;
}

/** One simple command of a command line. */
export interface InspectedCommand {
  /** Its unquoted words joined by one space. Words with expansions are kept as written. */
  readonly text: string;
  /**
   * Other spellings of the command: the program without its folder, `git` without its global options, the words behind
   * a wrapper with unknown options. Rules that deny or ask match them too; rules that allow do not.
   */
  readonly spellings: readonly string[];
  /** Whether an argument or the input is a program that the parser does not read, for example of `python -c`. */
  readonly runsText: boolean;
}

export interface Inspection {
  /**
   * Every simple command of a command line, including commands inside substitutions, after assignments and behind
   * wrappers such as `env`, `sh -c` and `xargs`. Empty for other actions.
   */
  readonly commands: readonly InspectedCommand[];
  readonly paths: readonly InspectedPath[];
  /** Why the command was not fully understood, or null. A rule never allows a command with a reason here. */
  readonly opaque: string | null;
}

/**
 * What an agent may ask of the machine it works on, through us: files of the session's folder, and commands. The
 * adapter decides whether it may; the edge does it, within the folder. The answer returns as a `response` input.
 */

export type HostCall =
  /** Where a path leads, links resolved. */
  | { readonly type: "file.place"; readonly path: string }
  | { readonly type: "file.read"; readonly path: string; readonly line: number | null; readonly limit: number | null }
  /** `path` as `file.place` gave it: a path that leads elsewhere by now is refused. */
  | { readonly type: "file.write"; readonly path: string; readonly content: string }
  /** A file that a person attached to a prompt, in base64. */
  | { readonly type: "file.attach"; readonly path: string }
  | {
      readonly type: "terminal.create";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
      readonly outputByteLimit: number | null;
    }
  | {
      readonly type: "terminal.output" | "terminal.wait" | "terminal.kill" | "terminal.release";
      readonly terminal: string;
    };

/** The answer to `file.place`. */
export interface FilePlace {
  /** The real path. */
  readonly path: string;
  /** In the session's folder, and not in Franca's own data folder. */
  readonly inside: boolean;
  /** The file runs code by itself: settings, hooks, shell start files. */
  readonly runsCode: boolean;
}

/** Ids of host calls begin with it: their answers are no lines of the agent. */
export const HOST_CALL = "host/";

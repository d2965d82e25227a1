/** What `franca run` writes, by format: for a terminal, as universal events, or in any dialect we speak. */
import type { UniversalEvent } from "../protocol/events.ts";
import { UsageError } from "./usage.ts";

export interface Output {
  /** Shown as they come. */
  readonly event: (event: UniversalEvent) => void;
  /** Something of our own to say to the person: never on standard output. */
  readonly say: (text: string) => void;
  /** Clears the spinner while a prompt of ours is on the screen. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** For a format that needs what happened before the run: it is read and not shown. */
  readonly learn?: (event: UniversalEvent) => void;
  /** Where the agent works: paths in it are shown from there. */
  readonly setDirectory?: (directory: string) => void;
  /** The run is over, with the problem that kept it from its end; true when the output itself says how it ended. */
  readonly end: (problem: string | null) => boolean;
}

/** Where text goes: a stream of the process, or a part of its screen. */
export interface Sink {
  readonly write: (text: string) => unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface OutputOptions {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly color: boolean;
  readonly prompts: boolean;
  /** How much of the tools' work is shown. */
  readonly detail?: "quiet" | "normal" | "verbose";
  readonly agent: string;
  /** The token the run resumes with, as it was given. */
  readonly resume?: string | undefined;
}

/** The default: the answer on standard output, the rest on standard error, which no file of this dialect can show. */
export const TERMINAL = "text";
const UNIVERSAL = "universal";
/** `--json`: one object at the end. */
export const JSON_RESULT = "json";

/** Projections are loaded only when one is asked for: most runs print for a terminal. */
export async function openFormat(format: string, options: OutputOptions): Promise<Output> {
  if (format === TERMINAL) return (await import("./output-text.ts")).openTextOutput(options);
  if (format === UNIVERSAL) return openUniversalOutput(options);
  if (format === JSON_RESULT) return (await import("./output-json.ts")).openJsonOutput(options);
  const { findProjection, projections } = await import("../projections/index.ts");
  const projection = findProjection(format);
  if (projection !== undefined) return (await import("./output-dialect.ts")).openDialectOutput(projection, options);
  const known = new Set([TERMINAL, UNIVERSAL, ...projections.map(({ name }) => name)]);
  throw new UsageError(`--format ${format} is not known. It takes ${[...known].join(", ")}.`);
}

/** One JSON object per line, every line ended. */
function openUniversalOutput({ stdout, stderr }: OutputOptions): Output {
  return {
    event: (event) => void stdout.write(`${JSON.stringify(event)}\n`),
    say: (text) => void stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
    end: () => false,
  };
}

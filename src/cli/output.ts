/** What `franca run` writes, by format. A format is one line in the table; its code is loaded when it is asked for. */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";

export interface Output {
  /** Shown as they come. */
  readonly event: (event: UniversalEvent) => void;
  /** Something of our own to say to the person: never on standard output. */
  readonly say: (text: string) => void;
  /** Clears the spinner while a prompt of ours is on the screen. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** The run is over; `ended` is null when no turn came to an end. */
  readonly end: (ended: EventOf<"turn.ended"> | null) => void;
}

export interface OutputOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly color: boolean;
  readonly prompts: boolean;
  readonly agent: string;
  /** The token the run goes on with, as it was asked for. */
  readonly resume?: string;
}

type OpenOutput = (options: OutputOptions) => Promise<Output>;

export const formats: Readonly<Record<string, OpenOutput>> = {
  text: async (options) => (await import("./output-text.ts")).openTextOutput(options),
  universal: async (options) => openUniversalOutput(options),
  opencode: async (options) => (await import("./output-dialect.ts")).openOpenCodeOutput(options),
  takopi: async (options) => (await import("./output-dialect.ts")).openTakopiOutput(options),
};

/** One JSON object per line, every line ended. */
function openUniversalOutput({ stdout, stderr }: OutputOptions): Output {
  return {
    event: (event) => void stdout.write(`${JSON.stringify(event)}\n`),
    say: (text) => void stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
    end: () => {},
  };
}

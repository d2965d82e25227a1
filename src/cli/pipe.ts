/** Lines in, text out, in constant memory: the next piece is read only when the last one has been written. */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { splitLines } from "../runtime/agent/lines.ts";
import { CommandError } from "./usage.ts";

export interface NumberedLine {
  readonly number: number;
  readonly text: string;
  /** Set when the line was too long to keep: then `text` is how it began. */
  readonly overlong?: number;
}

/** The lines of a file, or of standard input for `-`. */
export async function* readLines(file: string): AsyncGenerator<NumberedLine> {
  const input: Readable = file === "-" ? process.stdin : createReadStream(file);
  // The loop throws this error.
  input.on("error", () => {});
  let lines: NumberedLine[] = [];
  const splitter = splitLines({
    onLine: (text, number) => lines.push({ number, text }),
    onOverlong: ({ excerpt, bytes, number }) => lines.push({ number, text: excerpt, overlong: bytes }),
  });
  try {
    for await (const chunk of input) {
      splitter.push(chunk);
      yield* lines;
      lines = [];
    }
  } catch (error) {
    throw new CommandError(`${file} could not be read: ${messageOf(error)}`, { cause: error });
  }
  splitter.end();
  yield* lines;
}

const WRITE_BYTES = 65_536;

export interface Output {
  readonly write: (text: string) => Promise<void>;
  readonly flush: () => Promise<void>;
}

/** Standard output in large pieces, waiting for its reader. A reader who has left ends the command quietly. */
export function openOutput(): Output {
  const { stdout } = process;
  let pending = "";
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  const flush = async (): Promise<void> => {
    const text = pending;
    pending = "";
    if (text !== "" && !stdout.write(text)) await once(stdout, "drain");
  };
  return {
    flush,
    write: async (text) => {
      pending += text;
      if (pending.length >= WRITE_BYTES) await flush();
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

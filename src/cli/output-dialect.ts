/** `--format <dialect>`: a turn as another program reads it. Everything about it goes to standard error. */
import { writeSync } from "node:fs";
import { type Projection, written } from "../core/projection.ts";
import type { Output, OutputOptions } from "./output.ts";

export function openDialectOutput(projection: Projection, { stderr, agent, resume }: OutputOptions): Output {
  const rendering = projection.openRun({ agent, resume });
  const print = (outputs: readonly unknown[]): void => writeAll(Buffer.from(written(projection, outputs)));
  let over = false;
  return {
    event: (event) => print(rendering.step(event)),
    learn: rendering.learn,
    end(problem) {
      if (!over) print(rendering.end(problem));
      over = true;
      return rendering.isConcluded();
    },
    say: (text) => void stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
  };
}

/** Written at once: if we are stopped in the next moment, the reader has every whole line. */
function writeAll(bytes: Buffer): void {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EAGAIN";

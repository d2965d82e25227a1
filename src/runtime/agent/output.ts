/**
 * Reads an agent's output, in large pieces while it floods us. An agent writes line by line, and a reader who is always
 * there is woken for every few lines; one who rests for a millisecond finds many, and neither side is interrupted.
 */
import type { Readable } from "node:stream";

/** A piece of this size, or one so soon after the last, says that more is on its way; models stream far slower. */
const FLOOD_BYTES = 2_000;
const FLOOD_MS = 0.3;
const REST_MS = 1;

export interface Output {
  /** The receiver is behind: nothing is read until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Whether the receiver holds the output back. */
  readonly isHeld: () => boolean;
}

export function readOutput(stream: Readable, onChunk: (chunk: Buffer) => void): Output {
  let held = false;
  let resting = false;
  let lastAt = 0;
  const settle = (): void => {
    if (held || resting) stream.pause();
    else stream.resume();
  };
  const wake = (): void => {
    resting = false;
    settle();
  };
  stream.on("data", (chunk: Buffer) => {
    const now = performance.now();
    const isFlood = chunk.length >= FLOOD_BYTES || now - lastAt < FLOOD_MS;
    lastAt = now;
    onChunk(chunk);
    if (!isFlood || resting) return;
    resting = true;
    stream.pause();
    setTimeout(wake, REST_MS);
  });
  return {
    pause() {
      held = true;
      settle();
    },
    resume() {
      held = false;
      settle();
    },
    isHeld: () => held,
  };
}

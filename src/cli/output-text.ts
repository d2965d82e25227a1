/** The text format: the answer on standard output, everything about it on standard error, a spinner on a terminal. */
import { run as runFold } from "../core/fold.ts";
import { activityOf, oneLine, paintFor, type TextPiece, textProjection } from "../projections/text/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { Output, OutputOptions } from "./output.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
const ERASE_LINE = "\r\u001b[2K";
const MARGIN = 4;

export interface TextOutput extends Output {
  /** What happened before, prompts included, all of it on standard output. What is shown next goes on from there. */
  readonly past: (events: readonly UniversalEvent[]) => void;
}

export function openTextOutput({ stdout, stderr, color, prompts }: OutputOptions): TextOutput {
  const fold = textProjection({ color, prompts });
  const state = fold.start();
  const running = runFold({ ...fold, start: () => state });
  const paint = paintFor({ color });
  const spinner = openSpinner({ stderr, label: () => activityOf(state), paint: paint.cyan });
  const write = ({ to, text }: TextPiece): void => {
    if (to === "answer") stdout.write(text);
    else stderr.write(text);
  };
  return {
    past: (events) => {
      const { step } = textProjection({ color, prompts: true });
      for (const { text } of events.flatMap((event) => step(state, event))) stdout.write(text);
    },
    event: (event) => {
      const pieces = running.step(event);
      // Nothing to write: the spinner shows the new activity by itself.
      if (pieces.length === 0) return;
      spinner.clear();
      for (const piece of pieces) write(piece);
    },
    say: (text) => {
      spinner.clear();
      stderr.write(`${paint.dim(text)}\n`);
    },
    pause: spinner.pause,
    resume: spinner.resume,
    end: () => {
      spinner.stop();
      return false;
    },
  };
}

interface Spinner {
  /** Takes the line away before something else is written. */
  readonly clear: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
  readonly stop: () => void;
}

interface SpinnerOptions {
  readonly stderr: NodeJS.WriteStream;
  readonly label: () => string | null;
  readonly paint: (text: string) => string;
}

/** Only a terminal gets one. It is drawn on a line of its own: while text is being written there is no label. */
function openSpinner({ stderr, label, paint }: SpinnerOptions): Spinner {
  const nothing = (): void => {};
  if (!stderr.isTTY) return { clear: nothing, pause: nothing, resume: nothing, stop: nothing };
  let frame = 0;
  let drawn = false;
  let paused = false;
  const clear = (): void => {
    if (drawn) stderr.write(ERASE_LINE);
    drawn = false;
  };
  const draw = (): void => {
    const text = paused ? null : label();
    if (text === null) return clear();
    frame = (frame + 1) % FRAMES.length;
    const width = Math.max(1, (stderr.columns ?? 80) - MARGIN);
    stderr.write(`${ERASE_LINE}${paint(FRAMES[frame] ?? "")} ${oneLine(text, { width })}`);
    drawn = true;
  };
  const timer = setInterval(draw, FRAME_MS);
  timer.unref();
  return {
    clear,
    pause: () => {
      paused = true;
      clear();
    },
    resume: () => {
      paused = false;
    },
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}

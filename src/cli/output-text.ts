/** The text format: the answer on standard output, everything about it on standard error, a spinner on a terminal. */
import { run as runFold } from "../core/fold.ts";
import {
  oneLine,
  openMarkdown,
  type Paint,
  paintFor,
  progressOf,
  type TextPiece,
  textProjection,
} from "../projections/text/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { Output, OutputOptions, Sink } from "./output.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
const ERASE_LINE = "\r\u001b[2K";
const MARGIN = 4;

export interface TextOutput extends Output {
  /** What happened before, prompts included, all of it on standard output. What is shown next follows it. */
  readonly past: (events: readonly UniversalEvent[]) => void;
  /** What is going on; null while nothing is, and while a line is being written. */
  readonly progress: () => string | null;
}

export function openTextOutput({ stdout, stderr, color, prompts, detail = "normal" }: OutputOptions): TextOutput {
  const fold = textProjection({ color, prompts, detail });
  const state = fold.start();
  const running = runFold({ ...fold, start: () => state });
  const paint = paintFor({ color });
  const spinner = openSpinner({
    stderr,
    label: () => (detail === "quiet" ? null : progressOf(state, Date.now())),
    paint: paint.cyan,
  });
  const answer = openAnswer({ stdout, paint });
  const write = ({ to, text }: TextPiece): void => {
    if (to === "answer") return answer.push(text);
    answer.end();
    stderr.write(text);
  };
  return {
    past: (events) => {
      const { step } = textProjection({ color, prompts: true, detail });
      for (const event of events) {
        for (const { to, text } of step(state, event)) {
          if (to === "answer") answer.push(text);
          else {
            answer.end();
            stdout.write(text);
          }
        }
        if (event.type === "item.completed" && state.openLine === null) answer.end();
      }
    },
    event: (event) => {
      const pieces = running.step(event);
      // Nothing to write: the spinner shows the new activity by itself.
      if (pieces.length > 0) spinner.clear();
      for (const piece of pieces) write(piece);
      if (event.type === "item.completed" && state.openLine === null) answer.end();
    },
    say: (text) => {
      spinner.clear();
      stderr.write(`${paint.dim(text)}\n`);
    },
    progress: () => progressOf(state, Date.now()),
    setDirectory: (directory) => {
      state.directory = directory;
    },
    pause: spinner.pause,
    resume: spinner.resume,
    end: () => {
      spinner.stop();
      answer.end();
      return false;
    },
  };
}

interface Answer {
  readonly push: (text: string) => void;
  /** Whatever is held back is written: something else comes, or the block is complete. */
  readonly end: () => void;
}

const DEFAULT_WIDTH = 80;
const MAX_WIDTH = 100;

/** Markdown is rendered for a terminal; a file or a pipe gets it as the agent wrote it. */
function openAnswer({ stdout, paint }: { stdout: Sink; paint: Paint }): Answer {
  if (stdout.isTTY !== true) return { push: (text) => void stdout.write(text), end: () => {} };
  const width = Math.min(stdout.columns ?? DEFAULT_WIDTH, MAX_WIDTH);
  const markdown = openMarkdown({ paint, width });
  const write = (text: string): void => {
    if (text !== "") stdout.write(text);
  };
  return { push: (text) => write(markdown.push(text)), end: () => write(markdown.end()) };
}

interface Spinner {
  /** Takes the line away before something else is written. */
  readonly clear: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
  readonly stop: () => void;
}

interface SpinnerOptions {
  readonly stderr: Sink;
  readonly label: () => string | null;
  readonly paint: (text: string) => string;
}

/** Only a terminal gets one. It is drawn on a line of its own: while text is being written there is no label. */
function openSpinner({ stderr, label, paint }: SpinnerOptions): Spinner {
  const nothing = (): void => {};
  if (stderr.isTTY !== true) return { clear: nothing, pause: nothing, resume: nothing, stop: nothing };
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

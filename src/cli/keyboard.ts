/**
 * The input line of `franca attach`: lines typed at the terminal, and a place for everything else above it. A question
 * on the screen takes the keys for as long as it stands.
 */
import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from "node:readline";

export interface Keyboard {
  /** Ends with the input, or when the keyboard is closed. To be read at once: what was typed before is not kept. */
  readonly lines: () => AsyncGenerator<string>;
  /** Writes above the input line; what has no newline yet waits for it. */
  readonly print: (text: string) => void;
  /** Shown before the input line: what is going on. */
  readonly setStatus: (status: string | null) => void;
  /** Somebody else reads the keys from here on, until `take`. */
  readonly release: () => void;
  readonly take: () => void;
  readonly close: () => void;
}

export interface KeyboardOptions {
  readonly onInterrupt: () => void;
  /** What was typed before, the newest first. */
  readonly history: readonly string[];
}

const MARK = "› ";
const MAX_HISTORY = 200;

interface Line {
  readonly open: (unfinished: string) => Interface;
  readonly print: (text: string) => void;
  readonly erase: () => void;
  readonly redraw: () => void;
}

interface State {
  current: Interface | null;
  status: string | null;
  /** Text without a newline yet. */
  waiting: string;
}

/** The line itself: drawn, erased while something is written above it, and drawn again. */
function inputLine(state: State, { onInterrupt, history }: KeyboardOptions): Line {
  const { stdin, stderr } = process;
  const past = [...history];
  const mark = (): string => (state.status === null ? MARK : `[${state.status}] ${MARK}`);
  /** It may take several rows, and the cursor stands somewhere in them. */
  const erase = (): void => {
    if (state.current === null || !stdin.isTTY) return;
    moveCursor(stderr, 0, -state.current.getCursorPos().rows);
    cursorTo(stderr, 0);
    clearScreenDown(stderr);
  };
  const draw = (): void => {
    if (state.current === null || !stdin.isTTY) return;
    state.current.setPrompt(mark());
    state.current.prompt(true);
  };
  return {
    erase,
    redraw() {
      erase();
      draw();
    },
    open(unfinished) {
      // What is typed is echoed where the answer is not: that may go into a file.
      const lines = createInterface(
        stdin.isTTY
          ? { input: stdin, output: stderr, history: past, historySize: MAX_HISTORY }
          : { input: stdin, terminal: false },
      );
      // A terminal that is gone ends the input.
      lines.on("error", () => lines.close());
      lines.on("SIGINT", onInterrupt);
      lines.on("history", (all: string[]) => past.splice(0, past.length, ...all));
      state.current = lines;
      draw();
      if (unfinished !== "") lines.write(unfinished);
      return lines;
    },
    print(text) {
      state.waiting += text;
      const end = state.waiting.lastIndexOf("\n") + 1;
      if (end === 0) return;
      erase();
      stderr.write(state.waiting.slice(0, end));
      state.waiting = state.waiting.slice(end);
      draw();
    },
  };
}

export function openKeyboard(options: KeyboardOptions): Keyboard {
  const state: State = { current: null, status: null, waiting: "" };
  const line = inputLine(state, options);
  let isClosed = false;
  let isReleased = false;
  let taken: () => void = () => {};
  /** What was typed and not sent when a question came. */
  let unfinished = "";
  return {
    async *lines() {
      while (!isClosed) {
        if (isReleased) {
          await new Promise<void>((resolve) => {
            taken = resolve;
          });
          continue;
        }
        const lines = line.open(unfinished);
        unfinished = "";
        for await (const text of lines) {
          yield text;
          if (state.current === lines) line.redraw();
        }
        // Still ours when it ended: so ended the input.
        if (state.current === lines) return;
      }
    },
    print: line.print,
    setStatus(text) {
      if (state.status === text) return;
      state.status = text;
      line.redraw();
    },
    release() {
      const lines = state.current;
      isReleased = true;
      unfinished = lines?.line ?? "";
      line.erase();
      state.current = null;
      lines?.close();
    },
    take() {
      isReleased = false;
      taken();
    },
    close() {
      isClosed = true;
      isReleased = false;
      const lines = state.current;
      line.erase();
      state.current = null;
      lines?.close();
      taken();
    },
  };
}

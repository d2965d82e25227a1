/** Lines typed at the terminal. A question on the screen takes the keys for as long as it stands. */
import { createInterface, type Interface } from "node:readline";

export interface Keyboard {
  /** Ends with the input, or when the keyboard is closed. To be read at once: what was typed before is not kept. */
  readonly lines: () => AsyncGenerator<string>;
  /** Somebody else reads the keys from here on, until `take`. */
  readonly release: () => void;
  readonly take: () => void;
  readonly close: () => void;
}

export function openKeyboard({ onInterrupt }: { readonly onInterrupt: () => void }): Keyboard {
  const { stdin, stderr } = process;
  let current: Interface | null = null;
  let isClosed = false;
  let isReleased = false;
  let taken: () => void = () => {};
  /** What was typed and not sent when a question came. */
  let unfinished = "";

  const open = (): Interface => {
    // What is typed is echoed where the answer is not: that may go into a file.
    const lines = createInterface(stdin.isTTY ? { input: stdin, output: stderr } : { input: stdin, terminal: false });
    lines.setPrompt("");
    lines.on("SIGINT", onInterrupt);
    if (unfinished !== "") lines.write(unfinished);
    unfinished = "";
    return lines;
  };
  return {
    async *lines() {
      while (!isClosed) {
        if (isReleased) {
          await new Promise<void>((resolve) => {
            taken = resolve;
          });
          continue;
        }
        const lines = open();
        current = lines;
        for await (const line of lines) yield line;
        // Still ours when it ended: so ended the input.
        if (current === lines) return;
      }
    },
    release() {
      const lines = current;
      isReleased = true;
      current = null;
      unfinished = lines?.line ?? "";
      lines?.close();
    },
    take() {
      isReleased = false;
      taken();
    },
    close() {
      isClosed = true;
      isReleased = false;
      current?.close();
      taken();
    },
  };
}

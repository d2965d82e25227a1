/**
 * A terminal for programs that draw on one: tmux on a socket of its own. Screens are kept for whoever wants to look.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface Terminal {
  /** Types words; `keys` are named keys such as Enter. */
  readonly type: (text: string) => void;
  readonly press: (...keys: string[]) => void;
  /** As a terminal gives what was dropped on it or pasted into it. */
  readonly paste: (text: string) => void;
  readonly screen: () => string;
  /** Looks until the screen shows it; the last screen is in the error otherwise. */
  readonly shows: (what: RegExp, options?: { readonly withinMs?: number }) => Promise<string>;
  /** Writes the screen into the output folder. */
  readonly keep: (name: string) => void;
  readonly close: () => void;
}

export const hasTmux = (): boolean => spawnSync("tmux", ["-V"]).status === 0;

let opened = 0;

export function openTerminal({
  command,
  env,
  screens,
  columns = 130,
  rows = 42,
}: {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where kept screens go. */
  readonly screens: string;
  readonly columns?: number;
  readonly rows?: number;
}): Terminal {
  opened += 1;
  const socket = `franca-test-${process.pid}-${opened}`;
  // Of one environment: where the socket is may depend on it.
  const options = { encoding: "utf8", env: { ...env, TERM: "xterm-256color" } } as const;
  const tmux = (...args: string[]): string => execFileSync("tmux", ["-L", socket, ...args], options);
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  tmux("new-session", "-d", "-s", "main", "-x", String(columns), "-y", String(rows), quoted);
  const close = (): void => void spawnSync("tmux", ["-L", socket, "kill-server"], options);
  onTestFinished(close);
  const screen = (): string => {
    const { stdout, status } = spawnSync("tmux", ["-L", socket, "capture-pane", "-p", "-t", "main"], options);
    return status === 0 ? stdout : "(the program has ended)";
  };
  return {
    type: (text) => void tmux("send-keys", "-t", "main", "-l", text),
    press: (...keys) => void tmux("send-keys", "-t", "main", ...keys),
    paste(text) {
      tmux("set-buffer", text);
      tmux("paste-buffer", "-p", "-t", "main");
    },
    screen,
    close,
    keep(name) {
      mkdirSync(screens, { recursive: true });
      writeFileSync(join(screens, `${name}.txt`), screen());
    },
    async shows(what, { withinMs = 30_000 } = {}) {
      // A screen tells nobody that it has changed: one can only look again.
      for (const until = Date.now() + withinMs; Date.now() < until; ) {
        const now = screen();
        if (what.test(now)) return now;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`The screen never showed ${what}. It shows:\n${screen()}`);
    },
  };
}

/** A real Chromium without a window, driven over its own pipe: what a test needs of it, and no more. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";

const program = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/** Why tests with it cannot run; null when they can. */
export const missingChromium = program === undefined ? "chromium is not on the PATH" : null;

export interface Page {
  /** Goes there and waits until it is loaded. */
  readonly open: (url: string) => Promise<void>;
  /** The value of an expression in the page; of a promise, what it resolves to. */
  readonly evaluate: (expression: string) => Promise<unknown>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly result?: { readonly [name: string]: unknown };
  readonly error?: { readonly message: string };
}

type Send = (method: string, params?: object, sessionId?: string) => Promise<Readonly<Record<string, unknown>>>;

export async function openPage(): Promise<Page> {
  // Its sandbox needs rights that root in a container does not have.
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"];
  const profile = mkdtempSync(join(tmpdir(), "franca-chromium-"));
  const child = spawn(program ?? "", [...args, `--user-data-dir=${profile}`], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    // A group of its own: its children end with it.
    detached: true,
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await exited;
    // Processes that left the group may write a little longer.
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  const listeners = new Set<(message: Message) => void>();
  const send = speak(child.stdio[3] as Writable, child.stdio[4] as Readable, listeners);
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const session = String(sessionId);
  await send("Page.enable", {}, session);
  return {
    async open(url) {
      const loaded = new Promise<void>((resolve) => {
        const listener = (message: Message): void => {
          if (message.method !== "Page.loadEventFired" || message.sessionId !== session) return;
          listeners.delete(listener);
          resolve();
        };
        listeners.add(listener);
      });
      await send("Page.navigate", { url }, session);
      await loaded;
    },
    async evaluate(expression) {
      const params = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await send("Runtime.evaluate", params, session);
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return typeof result === "object" && result !== null && "value" in result ? result.value : undefined;
    },
  };
}

/** JSON with a zero byte after each message, in both directions. */
function speak(input: Writable, output: Readable, listeners: Set<(message: Message) => void>): Send {
  const waiting = new Map<number, (message: Message) => void>();
  let rest = "";
  let count = 0;
  output.setEncoding("utf8").on("data", (text: string) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop() ?? "";
    for (const line of messages) {
      const message: Message = JSON.parse(line);
      if (message.id !== undefined) waiting.get(message.id)?.(message);
      for (const listener of [...listeners]) listener(message);
    }
  });
  return (method, params = {}, sessionId = undefined) => {
    count += 1;
    const id = count;
    input.write(`${JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`);
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error }) => {
        waiting.delete(id);
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
    });
  };
}

/**
 * Handles errors that no other code handles: bugs. They are written to `crash.log` in the data folder, with their
 * stack, and the user gets one sentence. The daemon first closes in order, within a bound.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../runtime/logger.ts";
import type { Redactor } from "../runtime/redact.ts";
import { version } from "../server/version.ts";

/** Maximum time to close: turns end as interrupted, and waiting events are stored. */
const CLOSE_MS = 10_000;
const FAILED = 1;

export interface LastResort {
  /** The data folder. */
  readonly folder: string;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly close: () => Promise<void>;
}

/** Handles uncaught exceptions and unhandled rejections of a daemon, until the process ends. */
export function openLastResort({ folder, logger, redactor, close }: LastResort): void {
  let isEnding = false;
  const onFatal = (error: unknown): void => {
    if (isEnding) {
      logger.error("daemon.failed_again", { error });
      return;
    }
    isEnding = true;
    logger.error("daemon.failed", { error });
    process.stderr.write(`${reportCrash(folder, error, redactor)}\n`);
    const end = (): never => process.exit(FAILED);
    setTimeout(end, CLOSE_MS);
    close().then(end, end);
  };
  process.on("uncaughtException", onFatal);
  process.on("unhandledRejection", onFatal);
  // The terminal or pipe was closed: the output is dropped, and sessions continue.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/** Writes the error with its stack into the data folder. Returns a sentence for the user. */
export function reportCrash(folder: string, error: unknown, redactor: Redactor): string {
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
  const said = `franca: An internal error ended Franca: ${redactor.text(message.split("\n")[0] ?? "")}.`;
  const file = join(folder, "crash.log");
  const head = `${new Date().toISOString()} Franca ${version}, Node ${process.version}, ${process.platform}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, `${head}\n${redactor.text(stack)}\n`, { mode: 0o600 });
    return `${said} Please report it with ${file}.`;
  } catch {
    return `${said} ${file} could not be written.`;
  }
}

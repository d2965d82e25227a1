/** What the edges print: a dotted past-tense event name and fields, written by Pino, which is loaded on first use. */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import type { Logger as PinoLogger } from "pino";
import { defined } from "../core/defined.ts";
import type { Redactor } from "./redact.ts";

export interface Logger {
  readonly debug: (event: string, fields?: object) => void;
  readonly info: (event: string, fields?: object) => void;
  readonly warn: (event: string, fields?: object) => void;
  readonly error: (event: string, fields?: object) => void;
}

export type LogLevel = "silent" | "error" | "warn" | "info" | "debug";

const STDERR = 2;

const ignore = (): void => {};

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Secrets we hold never reach the output, nor do credentials in addresses. */
  readonly redactor: Redactor;
  readonly destination?: { readonly write: (line: string) => void };
}

export function openLogger({ level, redactor, destination }: LoggerOptions): Logger {
  if (level === "silent") return silentLogger;
  let logger: PinoLogger | null = null;
  const write = (severity: Severity) => (event: string, fields: object) => {
    try {
      logger ??= openPino({ level, ...defined({ destination }) });
      logger[severity](fields, event);
    } catch (error) {
      // Pino cannot be loaded without a free file descriptor. Logging never fails its caller.
      writePlain({ severity, event, ...fields, logger: String(error) }, destination);
    }
  };
  const all = redacting(forEach(write), redactor);
  // What is not printed costs nothing.
  const at = (severity: Severity): Logger[Severity] =>
    severities.indexOf(severity) >= severities.indexOf(level) ? all[severity] : ignore;
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function writePlain(line: object, destination: LoggerOptions["destination"]): void {
  try {
    const text = `${JSON.stringify(line)}\n`;
    if (destination === undefined) writeSync(STDERR, text);
    else destination.write(text);
  } catch {
    // The line is lost: there is no other output for it.
  }
}

/** By the first line that is printed: most daemons print none, and Pino takes a megabyte. */
function openPino({ level, destination }: Pick<LoggerOptions, "level" | "destination">): PinoLogger {
  const { pino }: typeof import("pino") = createRequire(import.meta.url)("pino");
  if (destination !== undefined) return pino({ level, base: null }, destination);
  const standardError = pino.destination({ dest: STDERR, sync: true });
  // A line that cannot be written, on a full disk for example, is lost. That must not end the program.
  standardError.on("error", () => {});
  return pino({ level, base: null }, standardError);
}

/** Whether such lines are printed at all. */
export const isPrinted = (logger: Logger, severity: keyof Logger): boolean => logger[severity] !== ignore;

/** The same logger, without what the redactor knows: a session's own secrets, for instance. */
export const redacting = (logger: Logger, redactor: Redactor): Logger =>
  forEach((severity) => (event, fields) => logger[severity](event, redactFields(redactor, fields)));

type Severity = keyof Logger;

const severities: readonly LogLevel[] = ["debug", "info", "warn", "error"];

function forEach(make: (severity: Severity) => (event: string, fields: object) => void): Logger {
  const say = (severity: Severity): Logger[Severity] => {
    const print = make(severity);
    return (event, fields = {}) => print(event, fields);
  };
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** Errors have no enumerable fields: without this, their message would be lost. */
const redactFields = (redactor: Redactor, fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const text = value instanceof Error ? value.message : value;
      return [name, typeof text === "string" ? redactor.text(text) : redactor.value(text)];
    }),
  );

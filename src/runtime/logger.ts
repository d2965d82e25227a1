/** What the edges print: a dotted past-tense event name and fields, written by Pino, which is loaded on first use. */
import { createRequire } from "node:module";
import type { Redactor } from "./redact.ts";

export interface Logger {
  readonly debug: (event: string, fields?: object) => void;
  readonly info: (event: string, fields?: object) => void;
  readonly warn: (event: string, fields?: object) => void;
  readonly error: (event: string, fields?: object) => void;
}

export type LogLevel = "silent" | "error" | "warn" | "info" | "debug";

const ignore = (): void => {};

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Secrets we hold never reach the output. */
  readonly redactor?: Redactor;
  readonly destination?: { readonly write: (line: string) => void };
}

export function openLogger({ level, redactor, destination }: LoggerOptions): Logger {
  if (level === "silent") return silentLogger;
  const pino: typeof import("pino") = createRequire(import.meta.url)("pino");
  const logger = pino.pino({ level, base: null }, destination ?? pino.pino.destination({ dest: 2, sync: true }));
  const say =
    (severity: Exclude<LogLevel, "silent">) =>
    (event: string, fields: object = {}): void => {
      const described = describe(fields);
      const clean = redactor === undefined ? described : redactor.value(described);
      logger[severity](typeof clean === "object" && clean !== null ? clean : {}, event);
    };
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** Errors have no enumerable fields: without this, their message would be lost. */
function describe(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? value.message : value]),
  );
}

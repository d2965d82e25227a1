/** Runs inputs and catches whatever goes wrong: what is thrown, what is rejected and caught by nobody, what hangs. */
import { Script } from "node:vm";
import type { Watch } from "./coverage.ts";
import type { Form } from "./mutate.ts";

export interface Target {
  readonly name: string;
  /** The modules under test. */
  readonly watches: Watch;
  readonly form: Form;
  /** How many inputs run between two looks at the coverage; a look takes some milliseconds. */
  readonly batch: number;
  /** The first inputs. */
  readonly seeds: () => readonly Buffer[];
  /** Throws where a promise is broken. */
  readonly run: Run;
  /** Work goes on after a run, so that it cannot be counted what a run takes. */
  readonly isBusy?: boolean;
  readonly close?: () => Promise<void>;
}

export type Run =
  | { readonly kind: "sync"; readonly once: (input: Buffer) => void }
  | { readonly kind: "async"; readonly once: (input: Buffer) => Promise<void> };

export interface Failure {
  /** Of the inputs that were given. */
  readonly index: number;
  readonly error: Error;
}

/** A run of inputs that takes longer hangs. */
const HANG_MS = 10_000;

let rejected: unknown = null;

/** From here on nothing that is rejected ends the process. */
export function catchRejections(): void {
  process.on("unhandledRejection", (error) => {
    rejected ??= error;
  });
}

/** Runs the inputs in order; the first that breaks something is the last that runs. */
export async function attempt({ run }: Target, inputs: readonly Buffer[]): Promise<Failure | null> {
  const place = { index: 0 };
  rejected = null;
  try {
    if (run.kind === "sync") runSync(run.once, inputs, place);
    else await runAsync(run.once, inputs, place);
    await new Promise((resolve) => setImmediate(resolve));
  } catch (error) {
    return { index: place.index, error: asError(error) };
  }
  if (rejected === null) return null;
  const error = new Error(`Unhandled rejection: ${asError(rejected).message}`, { cause: rejected });
  return { index: inputs.length - 1, error };
}

/** V8 interrupts even an endless loop of ours when it runs in a script with a timeout. */
const call = new Script("globalThis.francaFuzz()");

function runSync(once: (input: Buffer) => void, inputs: readonly Buffer[], place: { index: number }): void {
  const francaFuzz = (): void => {
    for (; place.index < inputs.length; place.index += 1) once(inputs[place.index] ?? Buffer.alloc(0));
  };
  Object.assign(globalThis, { francaFuzz });
  call.runInThisContext({ timeout: HANG_MS });
}

async function runAsync(once: (input: Buffer) => Promise<void>, inputs: readonly Buffer[], place: { index: number }) {
  for (; place.index < inputs.length; place.index += 1) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`No answer within ${HANG_MS} ms`)), HANG_MS);
    });
    try {
      await Promise.race([once(inputs[place.index] ?? Buffer.alloc(0)), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Node's word for a script that ran into its timeout, and ours for an answer that did not come. */
export const isHang = ({ error }: Failure): boolean =>
  ("code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") || error.message.startsWith("No answer within");

/** The same for failures of one kind: what happened, without the values, and the first line of ours where it did. */
export function kindOf({ error }: Failure): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  const where = (cause.stack ?? "").split("\n").find((line) => /^\s+at .*\.(js|ts):\d+/.test(line)) ?? "";
  const what = error.message.replaceAll(/"[^"]*"|`[^`]*`|'[^']*'|\d+/g, "…").slice(0, 80);
  return `${error.name} ${what} ${where.trim()}`;
}

/** Inputs for the writer's queue, with the secrets we hold redacted before anything is stepped or stored. */
import type { SessionInput } from "../../core/input.ts";
import type { Inspection } from "../../permissions/inspection.ts";
import type { StderrExcerpt } from "../../protocol/events.ts";
import type { Heard } from "../agent/connection/contract.ts";
import type { Redactor } from "../redact.ts";
import type { InputEntry, LinesEntry } from "./writer-state.ts";

/** What a queued line takes besides its text, about: many short ones must not fill memory either. */
const ENTRY_BYTES = 512;

/** An input without its time, which the writer gives. */
export type UntimedInput = Untimed<SessionInput>;
type Untimed<Input> = Input extends unknown ? Omit<Input, "at"> : never;

export function entryFromAgent(
  redactor: Redactor,
  heard: Exclude<Heard, { type: "disconnected" }>,
  at: number,
): InputEntry | LinesEntry {
  if (heard.type !== "text") return inputFromAgent(redactor, { heard, at });
  const { text } = heard;
  return { text, next: 0, at, hasSecrets: redactor.touches(text), size: text.length + ENTRY_BYTES };
}

interface Received {
  readonly heard: Exclude<Heard, { type: "disconnected" | "text" }>;
  readonly at: number;
}

export function inputFromAgent(redactor: Redactor, { heard, at }: Received): InputEntry {
  switch (heard.type) {
    case "line": {
      const origin = redactor.line(heard);
      const input = { type: "line" as const, from: "agent" as const, line: origin.value, at };
      return { input, origin, size: origin.text.length + ENTRY_BYTES, check: null, done: null };
    }
    case "unreadable": {
      const text = redactor.text(heard.text);
      const input = { type: "unreadable" as const, text, error: redactor.text(heard.error), at };
      return { input, origin: null, size: text.length, check: null, done: null };
    }
    case "response": {
      const { id, status } = heard;
      const input = { type: "response" as const, id, status, body: redactor.value(heard.body), at };
      return { input, origin: null, size: 0, check: null, done: null };
    }
  }
}

/** The output of a process that exited, or that a person ran, is stored too. */
export function redactInput(redactor: Redactor, input: UntimedInput): UntimedInput {
  if (input.type === "command" && input.command.type === "terminate") {
    return { ...input, command: { ...input.command, ...redactStderr(redactor, input.command) } };
  }
  if (input.type === "shell.output") return { ...input, delta: redactor.text(input.delta) };
  if (input.type === "shell.ended") return { ...input, output: redactor.text(input.output) };
  if (input.type === "inspected") return { ...input, inspection: redactPaths(redactor, input.inspection) };
  if (input.type !== "disconnected") return input;
  const { exit } = input;
  const message = exit.message === undefined ? {} : { message: redactor.text(exit.message) };
  return { ...input, exit: { ...exit, ...message, ...redactStderr(redactor, exit) } };
}

/** A symlink can lead to a path with a secret in it. Everything else comes from lines that are redacted already. */
function redactPaths(redactor: Redactor, inspection: Inspection | null): Inspection | null {
  if (inspection === null) return null;
  return { ...inspection, paths: inspection.paths.map((one) => ({ ...one, path: redactor.text(one.path) })) };
}

function redactStderr(redactor: Redactor, { stderr }: { readonly stderr?: StderrExcerpt }) {
  if (stderr === undefined) return {};
  return { stderr: { ...stderr, head: redactor.text(stderr.head), tail: redactor.text(stderr.tail) } };
}

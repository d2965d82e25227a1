/** `franca convert`: a recorded or piped native stream, told in another dialect. */
import type { Command } from "commander";
import { adapterFor, adapters } from "../adapters/index.ts";
import type { Adapter } from "../core/adapter.ts";
import { type Converter, type Misread, openConverter, type Recorded } from "../core/convert.ts";
import { readRecorded } from "../dialects/recording.ts";
import { findProjection, projections } from "../projections/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { type NumberedLine, openOutput, readLines } from "./pipe.ts";
import { UsageError } from "./usage.ts";

/** Exit code: some lines were not understood. */
const NOT_UNDERSTOOD = 3;
/** After how many lines `--from auto` gives up. */
const AUTO_LINES = 200;

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly includeRaw?: boolean;
  readonly session?: string;
}

export function define(command: Command): void {
  command
    .argument("[file]", "the recording; - is standard input", "-")
    .option("--from <agent>", `${adapters.map(({ agent }) => agent).join(", ")}, or auto`, "auto")
    .option("--to <dialect>", ["universal", ...projections.map(({ name }) => name)].join(", "), "universal")
    .option("--include-raw", "put the native line that caused it into each universal event")
    .option("--session <id>", "only this session, of a stream that carries several")
    .action(convert);
}

async function convert(file: string, flags: Flags): Promise<void> {
  const output = openOutput();
  const teller = openTeller(flags);
  let converter = flags.from === "auto" ? null : startConverter(knownAdapter(flags.from), flags);
  let waiting: Recorded[] = [];
  for await (const line of readLines(file)) {
    const recorded = parse(line);
    if (recorded === null) continue;
    waiting.push(recorded);
    converter ??= recognise(recorded, flags);
    if (converter === null && waiting.length > AUTO_LINES) throw unrecognised();
    if (converter === null) continue;
    for (const entry of waiting) await output.write(teller.tell(converter.step(entry)));
    waiting = [];
  }
  if (converter === null && waiting.length > 0) throw unrecognised();
  if (converter !== null) await output.write(teller.tell(converter.end()));
  await output.write(teller.end());
  await output.flush();
  if (flags.session !== undefined && !teller.spoke()) {
    throw new UsageError(`The stream has no session ${flags.session}.`);
  }
  if (converter !== null) complain(converter.misread());
}

function parse({ number, text, overlong }: NumberedLine): Recorded | null {
  if (overlong !== undefined) {
    return { type: "unreadable", text, error: `The line is too long: ${overlong} bytes`, at: null, place: number };
  }
  const recorded = readRecorded(text);
  return recorded === null ? null : { ...recorded, place: number };
}

const startConverter = (adapter: Adapter, { includeRaw = false }: Flags): Converter =>
  openConverter({ adapter, includeRaw });

function knownAdapter(agent: string): Adapter {
  const adapter = adapterFor(agent);
  if (adapter !== null) return adapter;
  const known = adapters.map((one) => one.agent).join(", ");
  throw new UsageError(`Cannot read ${agent}. --from takes ${known}, or auto.`);
}

/** The first line that could only be one agent's decides. */
function recognise(recorded: Recorded, flags: Flags): Converter | null {
  if (recorded.type !== "line") return null;
  const adapter = adapters.find((one) => one.recognises(recorded.line));
  return adapter === undefined ? null : startConverter(adapter, flags);
}

const unrecognised = (): UsageError =>
  new UsageError(
    `Nothing in the first lines tells which agent this is. Say it: --from ${adapters.map((one) => one.agent).join("|")}.`,
  );

/** Puts events into the words of the target, one projection per session. */
interface Teller {
  readonly tell: (events: readonly UniversalEvent[]) => string;
  readonly end: () => string;
  readonly spoke: () => boolean;
}

function openTeller({ to, session }: Flags): Teller {
  const open = targetFor(to);
  const targets = new Map<string, Target>();
  const targetOf = (event: UniversalEvent): Target => {
    const known = targets.get(event.session_id);
    if (known !== undefined) return known;
    const target = open();
    targets.set(event.session_id, target);
    return target;
  };
  const isWanted = (event: UniversalEvent): boolean => {
    if (session !== undefined) return event.session_id === session || event.native_session_id === session;
    // A chat bridge follows one run: the first, unless it names another.
    return to !== "takopi" || targets.size === 0 || targets.has(event.session_id);
  };
  return {
    tell: (events) => events.map((event) => (isWanted(event) ? targetOf(event).step(event) : "")).join(""),
    end: () => [...targets.values()].map((target) => target.end()).join(""),
    spoke: () => targets.size > 0,
  };
}

interface Target {
  readonly step: (event: UniversalEvent) => string;
  readonly end: () => string;
}

function targetFor(to: string): () => Target {
  if (to === "universal") return () => ({ step: (event) => `${JSON.stringify(event)}\n`, end: () => "" });
  const projection = findProjection(to);
  if (projection === undefined) {
    const known = ["universal", ...projections.map(({ name }) => name)].join(", ");
    throw new UsageError(`Cannot write ${to}. --to takes ${known}.`);
  }
  const write = (outputs: readonly unknown[]): string =>
    outputs.map((one) => (projection.form === "json" ? `${JSON.stringify(one)}\n` : String(one))).join("");
  return () => {
    const running = projection.open();
    return { step: (event) => write(running.step(event)), end: () => write(running.end()) };
  };
}

function complain({ count, first }: Misread): void {
  if (count === 0) return;
  const lines = count === 1 ? "1 line was" : `${count} lines were`;
  process.stderr.write(`franca: ${lines} not understood\n`);
  for (const { place, error } of first) process.stderr.write(`  line ${place}: ${error}\n`);
  if (count > first.length) process.stderr.write(`  and ${count - first.length} more\n`);
  process.exitCode = NOT_UNDERSTOOD;
}

/** `franca convert`: a recorded or piped native stream, rendered in another dialect. */
import type { Command } from "commander";
import { adapterFor, adapters } from "../adapters/index.ts";
import type { Adapter } from "../core/adapter.ts";
import { type Converter, type Misread, openConverter, type Recorded } from "../core/convert.ts";
import { readRecorded } from "../dialects/recording.ts";
import { UniversalEvent } from "../protocol/events.ts";
import { convertFile, fileForms } from "./convert-file.ts";
import { type NumberedLine, openOutput, readLines } from "./pipe.ts";
import { dialectNames, openRenderer, type Renderer } from "./renderer.ts";
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
    .option(
      "--from <agent>",
      `${adapters.map(({ agent }) => agent).join(", ")}, universal (events of Franca), auto, or an agent's own session ` +
        `files: ${fileForms.join(", ")}`,
      "auto",
    )
    .option("--to <dialect>", dialectNames.join(", "), "universal")
    .option("--include-raw", "put the native line that caused it into each universal event")
    .option("--session <id>", "only this session, of a stream that carries several")
    .addHelpText(
      "after",
      `
Examples:
  $ codex exec --json "Say hello" | franca convert
  $ franca convert --from claude --to markdown recording.jsonl > conversation.md
  $ franca convert --from claude-file --to text ~/.claude/projects/-home-me-app/0b7c….jsonl`,
    )
    .action(convert);
}

async function convert(file: string, flags: Flags): Promise<void> {
  const output = openOutput();
  if (fileForms.includes(flags.from)) {
    const { session, to, includeRaw = false } = flags;
    const unread = await convertFile(flags.from, { file, session, includeRaw, renderer: openRenderer({ to }), output });
    return complain({ count: unread.length, first: unread.map((error) => ({ place: 0, error })) });
  }
  const renderer = openRenderer(flags);
  const lines = readLines(file);
  const head = await firstLine(lines);
  const isOwn = flags.from === UNIVERSAL || (flags.from === "auto" && head !== null && eventIn(head.text) !== null);
  const all = chained(head, lines);
  if (isOwn) return convertEvents(all, { renderer, output, flags });
  const given = flags.from === "auto" ? null : knownAdapter(flags.from);
  let converter: Converter | null = null;
  let waiting: Recorded[] = [];
  for await (const line of all) {
    const recorded = parse(line);
    if (recorded === null) continue;
    waiting.push(recorded);
    converter ??= given === null ? recognise(recorded, flags) : formOf(given, { recorded, flags });
    if (converter === null && waiting.length > AUTO_LINES) throw unrecognised();
    if (converter === null) continue;
    for (const entry of waiting) await output.write(renderer.render(converter.step(entry)));
    waiting = [];
  }
  if (converter === null && waiting.length > 0) throw unrecognised();
  if (converter !== null) await output.write(renderer.render(converter.end()));
  await output.write(renderer.end());
  await output.flush();
  if (flags.session !== undefined && renderer.isEmpty()) {
    throw new UsageError(`The stream has no session ${flags.session}.`);
  }
  if (converter !== null) complain(converter.misread());
}

const UNIVERSAL = "universal";

async function firstLine(lines: AsyncGenerator<NumberedLine>): Promise<NumberedLine | null> {
  const { value, done } = await lines.next();
  return done === true ? null : value;
}

async function* chained(head: NumberedLine | null, rest: AsyncGenerator<NumberedLine>): AsyncGenerator<NumberedLine> {
  if (head !== null) yield head;
  yield* rest;
}

interface EventConversion {
  readonly renderer: Renderer;
  readonly output: ReturnType<typeof openOutput>;
  readonly flags: Flags;
}

/** Events of Franca itself: they are only rendered. */
async function convertEvents(
  lines: AsyncIterable<NumberedLine>,
  { renderer, output, flags }: EventConversion,
): Promise<void> {
  const misread: { place: number; error: string }[] = [];
  let count = 0;
  for await (const { number, text } of lines) {
    if (text.trim() === "") continue;
    const event = eventIn(text);
    if (event !== null) await output.write(renderer.render([event]));
    else {
      count += 1;
      if (misread.length < SHOWN_MISREAD) misread.push({ place: number, error: "no event of Franca" });
    }
  }
  await output.write(renderer.end());
  await output.flush();
  if (flags.session !== undefined && renderer.isEmpty()) {
    throw new UsageError(`The stream has no session ${flags.session}.`);
  }
  complain({ count, first: misread });
}

const SHOWN_MISREAD = 5;

function eventIn(text: string): UniversalEvent | null {
  try {
    return UniversalEvent.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
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
  throw new UsageError(`Cannot read ${agent}. --from takes ${known}, universal, or auto.`);
}

/** An agent may print more than one format (`opencode run`, `codex exec`): the first line shows which it is. */
function formOf(given: Adapter, { recorded, flags }: { recorded: Recorded; flags: Flags }): Converter {
  const other = adapters.find((one) => {
    return one.formOf === given.agent && recorded.type === "line" && one.recognises(recorded.line);
  });
  return startConverter(other ?? given, flags);
}

/** The first line that could only be one agent's decides. */
function recognise(recorded: Recorded, flags: Flags): Converter | null {
  if (recorded.type !== "line") return null;
  const adapter = adapters.find((one) => one.recognises(recorded.line));
  return adapter === undefined ? null : startConverter(adapter, flags);
}

const unrecognised = (): UsageError =>
  new UsageError(
    `Nothing in the first lines shows which agent this is. Say it: --from ${adapters.map((one) => one.agent).join("|")}.`,
  );

function complain({ count, first }: Misread): void {
  if (count === 0) return;
  const lines = count === 1 ? "1 line was" : `${count} lines were`;
  process.stderr.write(`franca: ${lines} not understood\n`);
  for (const { place, error } of first)
    process.stderr.write(place === 0 ? `  ${error}\n` : `  line ${place}: ${error}\n`);
  if (count > first.length) process.stderr.write(`  and ${count - first.length} more\n`);
  process.exitCode = NOT_UNDERSTOOD;
}

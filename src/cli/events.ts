/** `franca events`: a session's events on standard output, one JSON object per line, as stored or as they come. */
import { type Command, InvalidArgumentError } from "commander";
import { addDoorOptions, openDoor } from "./door.ts";
import { sessionNamed } from "./session-id.ts";
import { onSignals } from "./signals.ts";

const PAGE = 1000;

interface EventsFlags {
  readonly follow?: true;
  readonly offset: number;
  readonly includeRaw?: true;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("<id>", "the session")
    .option("-f, --follow", "stay and print new events")
    .option("--offset <sequence>", "only events after this sequence", parseOffset, 0)
    .option("--include-raw", "each event with the native line that caused it")
    .addHelpText(
      "after",
      "\nExamples:\n  $ franca events 7f3c… | jq .type\n  $ franca events 7f3c… --follow --offset 120",
    )
    .action((id: string, flags: EventsFlags) => events(id, flags));
}

async function events(named: string, flags: EventsFlags): Promise<void> {
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  const stopping = new AbortController();
  const release = onSignals({ interrupt: () => stopping.abort(), terminate: () => stopping.abort() });
  try {
    const id = await sessionNamed(door, named);
    let offset = flags.offset;
    for (let more = true; more && !stopping.signal.aborted; ) {
      const page = await door.events(id, { offset, limit: PAGE, includeRaw: flags.includeRaw === true });
      for (const event of page.events) print(event);
      offset = page.events.at(-1)?.sequence ?? offset;
      more = page.hasMore && page.events.length > 0;
    }
    if (flags.follow !== true) return;
    for await (const event of door.follow(id, { after: offset, signal: stopping.signal })) print(event);
  } finally {
    release();
    await door.close();
  }
}

const print = (event: unknown): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

function parseOffset(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

/** `franca sessions`: look at stored sessions, end their turns, take them out or away. */
import type { Command } from "commander";
import { cost, tokens } from "../projections/text/index.ts";
import type { SessionDetail, SessionSummary } from "../protocol/resources.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { dialectNames, openRenderer } from "./renderer.ts";
import { printJson, table } from "./table.ts";
import { ago, parseDuration } from "./time.ts";

const PAGE = 1000;

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list"))
    .description("all sessions")
    .option("--json", "as JSON")
    .action((flags: Flags) => withDoor(flags, (door) => list(door, flags)));
  addDoorOptions(command.command("show"))
    .argument("<id>")
    .description("one session as it stands")
    .option("--json", "as JSON, with its items")
    .action((id: string, flags: Flags) => withDoor(flags, (door) => show(door, id, flags)));
  addDoorOptions(command.command("export"))
    .argument("<id>")
    .description("all its events, one JSON object per line, or in another dialect")
    .option("--to <dialect>", dialectNames.join(", "), "universal")
    .option("--native", "the native lines instead")
    .option("--include-raw", "each event with the native line that caused it")
    .action((id: string, flags: Flags) => withDoor(flags, (door) => exportSession(door, id, flags)));
  addDoorOptions(command.command("abort"))
    .argument("<id>")
    .description("stop the turn that is running")
    .action((id: string, flags: Flags) => withDoor(flags, (door) => door.abort(id)));
  addDoorOptions(command.command("delete"))
    .argument("<id...>")
    .description("delete sessions and their events")
    .action((ids: string[], flags: Flags) =>
      withDoor(flags, async (door) => {
        for (const id of ids) await door.delete(id);
      }),
    );
  addDoorOptions(command.command("prune"))
    .description("delete sessions that nothing has happened in for a while")
    .requiredOption("--older-than <span>", "for example 30s, 12h or 7d", parseDuration)
    .option("--json", "as JSON")
    .action((flags: Flags) => withDoor(flags, (door) => prune(door, flags)));
  addDoorOptions(command.command("stop-continuing"))
    .argument("<id>")
    .description("turn off automatic continuation for a session")
    .action((id: string, flags: Flags) => withDoor(flags, (door) => door.stopContinuing(id)));
  command.addHelpText(
    "after",
    `
Examples:
  $ franca sessions list
  $ franca sessions show 7f3c…
  $ franca sessions export 7f3c… > session.jsonl
  $ franca sessions export --to markdown 7f3c… > session.md
  $ franca sessions prune --older-than 30d`,
  );
}

async function withDoor(flags: Flags, work: (door: Door) => Promise<void>): Promise<void> {
  const door = await openDoor({ flags, env: process.env });
  try {
    await work(door);
  } finally {
    await door.close();
  }
}

async function list(door: Door, { json }: Flags): Promise<void> {
  const sessions = await door.list();
  if (json === true) return printJson({ sessions });
  if (sessions.length === 0) return void process.stdout.write("There are no sessions yet.\n");
  const head = ["ID", "AGENT", "STATUS", "EVENTS", "UPDATED", "TITLE"];
  process.stdout.write(table([head, ...sessions.map(row)]));
}

const row = (session: SessionSummary): string[] => [
  session.sessionId,
  session.agent,
  session.ended ? "ended" : session.status,
  String(session.eventCount),
  ago(session.updatedAt),
  session.title ?? "",
];

async function show(door: Door, id: string, { json }: Flags): Promise<void> {
  const session = await door.get(id);
  if (json === true) return printJson(session);
  process.stdout.write(table(facts(session)));
}

function facts(session: SessionDetail): string[][] {
  const open = session.pendingPermissions.length + session.pendingQuestions.length;
  return [
    ["session", session.sessionId],
    ["agent", [session.agent, session.model, session.agentMode].filter((word) => word !== null).join(" · ")],
    ["native id", session.nativeSessionId ?? "not known yet"],
    ["status", session.ended ? "ended" : session.status],
    ["directory", session.directory],
    ["permissions", session.permissionMode],
    ["created", session.createdAt],
    ["updated", `${session.updatedAt} (${ago(session.updatedAt)})`],
    ["events", String(session.eventCount)],
    ["usage", [tokens(session.usage.tokens), cost(session.usage)].filter((word) => word !== null).join(" · ")],
    ...(open > 0 ? [["waiting for", `${open} answer${open > 1 ? "s" : ""}`]] : []),
    ...session.queue.map(({ preview }) => ["queued", preview]),
    ...session.todos.map(({ status, content }) => [`todo (${status})`, content]),
    ...(session.title === null ? [] : [["title", session.title]]),
  ];
}

async function exportSession(door: Door, id: string, { native, includeRaw, to }: Flags): Promise<void> {
  if (native === true) return exportNative(door, id);
  const renderer = openRenderer({ to: String(to) });
  for (let offset = 0, more = true; more; ) {
    const { events, hasMore } = await door.events(id, { offset, limit: PAGE, includeRaw: includeRaw === true });
    await write(renderer.render(events));
    offset = events.at(-1)?.sequence ?? offset;
    more = hasMore && events.length > 0;
  }
  await write(renderer.end());
}

async function exportNative(door: Door, id: string): Promise<void> {
  for (let offset = 0, more = true; more; ) {
    const { lines, hasMore } = await door.native(id, { offset, limit: PAGE });
    for (const line of lines) await write(`${JSON.stringify(line)}\n`);
    offset = lines.at(-1)?.line ?? offset;
    more = hasMore && lines.length > 0;
  }
}

async function write(text: string): Promise<void> {
  if (process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once("drain", () => resolve()));
}

async function prune(door: Door, { olderThan, json }: Flags): Promise<void> {
  const deleted = await door.prune({ olderThanMs: Number(olderThan) });
  if (json === true) return printJson({ deleted });
  process.stdout.write(`${deleted.length} session${deleted.length === 1 ? "" : "s"} deleted.\n`);
}

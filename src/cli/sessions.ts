/** `franca sessions`: list stored sessions, show and export them, rename, fork, stop and delete them. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { cost, oneLine, tokens } from "../projections/text/index.ts";
import type { SessionDetail, SessionSummary } from "../protocol/resources.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { folderName } from "./folder-name.ts";
import { dialectNames, openRenderer } from "./renderer.ts";
import { sessionNamed, shortId } from "./session-id.ts";
import { firstPrompt, showConversation } from "./session-text.ts";
import { defineAdoption } from "./sessions-adopt.ts";
import { printJson, table } from "./table.ts";
import { ago, parseDuration } from "./time.ts";
import { CommandError, UsageError } from "./usage.ts";

const PAGE = 1000;
const LISTED = 20;
const TITLE_WIDTH = 50;

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("list sessions, the newest first (default)")
    .option("-n, --limit <count>", "how many", parseCount, LISTED)
    .option("--all", "all of them")
    .option("-d, --dir <folder>", "only sessions in this folder")
    .option("-a, --agent <agent>", "only sessions of this agent")
    .option("--json", "as JSON")
    .action((flags: Flags) => withDoor(flags, (door) => list(door, flags)));
  onSession(
    command,
    "show <id>",
    "show a session's conversation",
    (door, id, flags) => show(door, id, flags),
    (sub) =>
      sub
        .option("--json", "as JSON: its state and its last items")
        .option("-v, --verbose", "with what tools printed and changed"),
  );
  onSession(command, "export <id>", "print all its events, or the session in another format", exportSession, (sub) =>
    sub
      .addOption(new Option("--format <format>", "the format").choices(dialectNames).default("universal"))
      .addOption(new Option("--to <format>").choices(dialectNames).hideHelp())
      .option("--native", "the raw agent I/O instead")
      .option("--include-raw", "each event with the native line that caused it"),
  );
  addDoorOptions(command.command("rename").argument("<id>").argument("<title...>"))
    .description("change a session's title")
    .action((id: string, words: string[], flags: Flags) =>
      withDoor(flags, async (door) => door.update(await sessionNamed(door, id), { title: words.join(" ") })),
    );
  onSession(command, "fork <id>", "start a new session from a session's state, and print its id", async (door, id) => {
    process.stdout.write(`${await door.fork(id)}\n`);
  });
  onSession(command, "abort <id>", "stop the running turn", (door, id) => door.abort(id));
  addDoorOptions(command.command("delete").argument("<id...>"))
    .description("delete sessions and their events")
    .action((ids: string[], flags: Flags) => withDoor(flags, (door) => remove(door, ids)));
  addDoorOptions(command.command("prune"))
    .description("delete idle sessions that have not changed for a while")
    .requiredOption("--older-than <span>", "for example 30s, 12h or 7d", parseDuration)
    .option("-y, --yes", "do not ask")
    .option("--dry-run", "only list what would be deleted")
    .option("--json", "as JSON")
    .action((flags: Flags) => withDoor(flags, (door) => prune(door, flags)));
  onSession(command, "stop-continuing <id>", "turn off automatic continuation for a session", (door, id) =>
    door.stopContinuing(id),
  );
  defineAdoption(command, withDoor);
  command.addHelpText("after", HELP);
}

const HELP = `
A session is named by its id or the beginning of it.

Examples:
  $ franca sessions
  $ franca sessions show 7f3c
  $ franca sessions discover
  $ franca sessions adopt --all --since 30d
  $ franca sessions export 7f3c --format markdown > session.md
  $ franca sessions prune --older-than 30d --dry-run`;

function parseCount(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

type SessionAction = (door: Door, id: string, flags: Flags) => Promise<void>;

/** A command about one session, which may be named by the beginning of its id. */
function onSession(
  parent: Command,
  name: string,
  description: string,
  action: SessionAction,
  more: (command: Command) => Command = (command) => command,
): void {
  more(addDoorOptions(parent.command(name)).description(description)).action((id: string, flags: Flags) =>
    withDoor(flags, async (door) => action(door, await sessionNamed(door, id), flags)),
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

async function list(door: Door, { json, limit, all, dir, agent }: Flags): Promise<void> {
  const { resolve } = await import("node:path");
  const filter = {
    ...(typeof dir === "string" ? { directory: resolve(dir) } : {}),
    ...(typeof agent === "string" ? { agent } : {}),
  };
  const sessions = [...(await door.list(filter))].sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  if (json === true) return printJson({ sessions });
  if (sessions.length === 0) {
    process.stdout.write('There are no sessions yet. Start one: franca run "…"\n');
    return;
  }
  const shown = all === true ? sessions : sessions.slice(0, Number(limit));
  const head = ["ID", "AGENT", "MODEL", "STATUS", "UPDATED", "FOLDER", "TITLE"];
  process.stdout.write(table([head, ...(await Promise.all(shown.map((session) => row(door, session))))]));
  const left = sessions.length - shown.length;
  if (left > 0) process.stderr.write(`${left} more: franca sessions --all\n`);
}

async function row(door: Door, session: SessionSummary): Promise<string[]> {
  return [
    shortId(session.sessionId),
    session.agent,
    session.model ?? "",
    session.ended ? "ended" : session.status,
    ago(session.updatedAt),
    folderName(session.directory),
    oneLine(session.title ?? (await firstPrompt(door, session)), { width: TITLE_WIDTH }),
  ];
}

async function show(door: Door, id: string, { json, verbose }: Flags): Promise<void> {
  const session = await door.get(id);
  if (json === true) return printJson(session);
  process.stdout.write(`${table(facts(session))}\n`);
  await showConversation(door, session, { isVerbose: verbose === true });
}

function facts(session: SessionDetail): string[][] {
  const open = session.pendingPermissions.length + session.pendingQuestions.length;
  return [
    ["session", session.sessionId],
    ["agent", [session.agent, session.model, session.agentMode].filter((word) => word !== null).join(" · ")],
    ["agent's id", session.nativeSessionId ?? "not known yet"],
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

async function exportSession(door: Door, id: string, { native, includeRaw, format, to }: Flags): Promise<void> {
  if (native === true) return exportNative(door, id);
  const renderer = openRenderer({ to: String(to ?? format) });
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

async function remove(door: Door, named: readonly string[]): Promise<void> {
  const ids: string[] = [];
  for (const one of named) ids.push(await sessionNamed(door, one));
  for (const id of ids) await door.delete(id);
  process.stderr.write(`${count(ids.length)} deleted.\n`);
}

const count = (number: number): string => `${number} session${number === 1 ? "" : "s"}`;

async function prune(door: Door, { olderThan, json, dryRun, yes }: Flags): Promise<void> {
  const olderThanMs = Number(olderThan);
  const before = Date.now() - olderThanMs;
  const old = (await door.list({ status: "idle" })).filter(({ updatedAt }) => Date.parse(updatedAt) < before);
  if (dryRun === true) {
    if (json === true) return printJson({ wouldDelete: old.map(({ sessionId }) => sessionId) });
    if (old.length > 0) process.stdout.write(table(await Promise.all(old.map((session) => row(door, session)))));
    process.stdout.write(`${count(old.length)} would be deleted.\n`);
    return;
  }
  if (old.length > 0 && yes !== true) await confirmPrune(old.length);
  const deleted = old.length === 0 ? [] : await door.prune({ olderThanMs });
  if (json === true) return printJson({ deleted });
  process.stdout.write(`${count(deleted.length)} deleted.\n`);
}

async function confirmPrune(number: number): Promise<void> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new UsageError(`${count(number)} would be deleted: add --yes to do it, or --dry-run to see which.`);
  }
  const { confirm } = await import("@clack/prompts");
  const answer = await confirm({
    message: `Delete ${count(number)} and all their events?`,
    initialValue: false,
    output: process.stderr,
  });
  if (answer !== true) throw new CommandError("Nothing was deleted.");
}

/** `franca sessions discover` and `adopt`: conversations that agents keep in files of their own. */

import type { Command } from "commander";
import { visible } from "../core/visible.ts";
import { oneLine } from "../projections/text/index.ts";
import type { Adoption, DiscoveredConversation } from "../protocol/adoption.ts";
import { addDoorOptions, type Door } from "./door.ts";
import { folderName } from "./folder-name.ts";
import { printJson, table } from "./table.ts";
import { ago, parseDuration } from "./time.ts";
import { CommandError, UsageError } from "./usage.ts";

type Flags = Readonly<Record<string, unknown>>;
type WithDoor = (flags: Flags, work: (door: Door) => Promise<void>) => Promise<void>;

const TITLE_WIDTH = 50;
const LISTED = 20;

export function defineAdoption(command: Command, withDoor: WithDoor): void {
  addDoorOptions(command.command("discover"))
    .description("list conversations that agents keep in their own files")
    .option("-a, --agent <agent>", "only conversations of this agent")
    .option("--since <span>", "only those that changed in this time, for example 12h or 30d", parseDuration)
    .option("--all", `all of them, not only the latest ${LISTED}`)
    .option("--json", "as JSON")
    .action((flags: Flags) => withDoor(flags, (door) => discover(door, flags)));
  addDoorOptions(command.command("adopt").argument("[id...]", "the agent's own ids, or how they begin"))
    .description("import conversations from the agents' own files, to read and continue them here")
    .option("-a, --agent <agent>", "only conversations of this agent")
    .option("--all", "all that were found")
    .option("--since <span>", "with --all: only those that changed in this time", parseDuration)
    .option("--fork", "continue in a copy: the agent's own conversation stays as it is")
    .option("--json", "as JSON")
    .action((ids: string[], flags: Flags) => withDoor(flags, (door) => adopt(door, ids, flags)));
}

const sinceOf = ({ since }: Flags): { since?: string } =>
  typeof since === "number" ? { since: new Date(Date.now() - since).toISOString() } : {};

const agentOf = ({ agent }: Flags): { agent?: string } => (typeof agent === "string" ? { agent } : {});

async function discover(door: Door, flags: Flags): Promise<void> {
  const found = await door.discover({ ...agentOf(flags), ...sinceOf(flags) });
  if (flags.json === true) return printJson(found);
  const { conversations, problems } = found;
  const shown = flags.all === true ? conversations : conversations.slice(0, LISTED);
  if (conversations.length === 0) process.stdout.write("No conversations were found in the agents' own files.\n");
  else process.stdout.write(table([HEAD, ...shown.map(row)]));
  const left = conversations.length - shown.length;
  if (left > 0) process.stderr.write(`${left} more: franca sessions discover --all\n`);
  for (const problem of problems) process.stderr.write(`franca: ${oneLine(problem, { width: 300 })}\n`);
}

const HEAD = ["AGENT", "ID", "UPDATED", "SIZE", "FOLDER", "TITLE", "SESSION"];

const row = (one: DiscoveredConversation): string[] => [
  one.agent,
  oneLine(one.nativeSessionId, { width: 40 }),
  ago(one.updatedAt),
  sizeOf(one.size),
  oneLine(folderName(one.directory ?? ""), { width: 40 }),
  oneLine(one.title ?? "", { width: TITLE_WIDTH }),
  one.sessionId === null ? "" : "adopted",
];

function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

async function adopt(door: Door, ids: readonly string[], flags: Flags): Promise<void> {
  const { all, json, fork } = flags;
  if (ids.length === 0 && all !== true) throw new UsageError("Name conversations by their ids, or say --all.");
  if (ids.length > 0 && all === true) throw new UsageError("Either name conversations, or say --all.");
  if (all !== true && flags.since !== undefined) throw new UsageError("--since goes with --all.");
  const { conversations } = await door.discover({ ...agentOf(flags), ...sinceOf(flags) });
  const wanted = all === true ? conversations : ids.map((id) => named(conversations, id));
  const adoptions: (Adoption & { readonly agent: string; readonly nativeSessionId: string })[] = [];
  const failures: string[] = [];
  for (const { agent, nativeSessionId, title } of wanted) {
    try {
      const adoption = await door.adopt({ agent, nativeSessionId, ...(fork === true ? { fork } : {}) });
      adoptions.push({ ...adoption, agent, nativeSessionId });
      if (json !== true) process.stdout.write(`${visible(sentence(adoption, title))}\n`);
    } catch (error) {
      // One that cannot be read is a sentence; the others are adopted all the same.
      const why = error instanceof Error ? error.message : String(error);
      failures.push(`${agent} ${nativeSessionId}: ${why}`);
      process.stderr.write(`franca: ${oneLine(`${agent} ${nativeSessionId}: ${why}`, { width: 400 })}\n`);
    }
  }
  if (json === true) printJson({ adoptions, failures });
  if (failures.length > 0 && adoptions.length === 0) throw new CommandError("Nothing was adopted.");
}

function named(conversations: readonly DiscoveredConversation[], id: string): DiscoveredConversation {
  const fitting = conversations.filter(({ nativeSessionId }) => nativeSessionId.startsWith(id));
  const exact = fitting.find(({ nativeSessionId }) => nativeSessionId === id);
  const [first, second] = fitting;
  if (exact !== undefined) return exact;
  if (first === undefined)
    throw new CommandError(`No conversation ${id} was found. See: franca sessions discover --all`);
  if (second !== undefined) throw new CommandError(`${id} fits ${fitting.length} conversations: write more of the id.`);
  return first;
}

function sentence({ sessionId, outcome, turns, abandoned, open, notes }: Adoption, title: string | null): string {
  const words = [`${sessionId}  ${outcome}, ${turns} turn${turns === 1 ? "" : "s"}`];
  if (title !== null) words.push(oneLine(title, { width: TITLE_WIDTH }));
  if (abandoned > 0) words.push(`${abandoned} abandoned prompt${abandoned === 1 ? "" : "s"} left out`);
  if (open) words.push("its last turn still runs");
  if (notes.length > 0) words.push(oneLine(notes.join(" "), { width: 200 }));
  return words.join(" · ");
}

/** `franca record`: runs one turn and keeps what was said in both directions, with its timing, fit to be shared. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { adapterFor } from "../adapters/index.ts";
import { convertLines } from "../core/convert.ts";
import { defined } from "../core/defined.ts";
import { recordedFrom } from "../dialects/recording.ts";
import { type EventOf, PermissionMode } from "../protocol/events.ts";
import type { NativeLine } from "../protocol/resources.ts";
import { addDoorOptions, openDoor } from "./door.ts";
import { nativeLines, runTurn } from "./one-turn.ts";
import { openRedaction, secretsOf } from "./redaction.ts";
import { CommandError, UsageError } from "./usage.ts";

interface Flags {
  readonly agent: string;
  readonly out?: string;
  readonly model?: string;
  readonly dir?: string;
  readonly permissionMode?: PermissionMode;
  readonly autoApprove?: true;
  readonly what?: string;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("<prompt...>", "what to ask")
    .requiredOption("--agent <agent>", "which agent")
    .option("--out <folder>", "the transcript's folder (default: transcripts/<agent>/recorded-<time>)")
    .option("--model <model>", "the agent's model")
    .option("--dir <folder>", "where the agent works", ".")
    .option("--what <sentence>", "what the recording shows, for about.json")
    .addOption(new Option("--permission-mode <mode>", "approval policy").choices(PermissionMode.options))
    .option("--auto-approve", "allow whatever the agent asks for; everything is refused otherwise")
    .addHelpText(
      "after",
      `
The folder gets native.jsonl and about.json. Read both before you share them: what looks like a key, this machine's
paths, sockets, ports and ids of the installation are replaced, but only you know what else is private.

Example:
  $ franca record --agent claude -- "Read README.md and add a line at the end"`,
    )
    .action((words: string[], flags: Flags) => record(words.join(" "), flags));
}

async function record(prompt: string, flags: Flags): Promise<void> {
  if (adapterFor(flags.agent) === null) throw new UsageError(`There is no agent ${flags.agent}.`);
  const stamp = new Date().toISOString().replaceAll(/[-:]|\..*/g, "");
  const folder = resolve(flags.out ?? join("transcripts", flags.agent, `recorded-${stamp}`));
  if (existsSync(join(folder, "native.jsonl"))) throw new UsageError(`${folder} holds a recording already.`);
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  const id = randomUUID();
  try {
    const directory = resolve(flags.dir ?? ".");
    const created = await door.create(id, {
      agent: flags.agent,
      directory,
      ...defined({ model: flags.model, permissionMode: flags.permissionMode }),
    });
    if (!created.healthy) throw new CommandError(created.error ?? `${flags.agent} could not be started.`);
    const rule = flags.autoApprove === true ? "approve" : "deny";
    const ended = await runTurn({ door, id, prompt, rule, signal: new AbortController().signal });
    const lines = await nativeLines(door, id);
    const version = (await door.agents()).find((one) => one.id === flags.agent)?.version ?? "unknown";
    write({ folder, flags, directory, lines, ended, version, prompt });
  } finally {
    await door.delete(id).catch(() => undefined);
    await door.close();
  }
}

interface Recording {
  readonly folder: string;
  readonly flags: Flags;
  readonly directory: string;
  readonly lines: readonly NativeLine[];
  readonly ended: EventOf<"turn.ended"> | null;
  readonly version: string;
  readonly prompt: string;
}

function write({ folder, flags, directory, lines, ended, version, prompt }: Recording): void {
  const redact = openRedaction({ directory, secrets: secretsOf(process.env) });
  const begun = Date.parse(lines[0]?.time ?? "") || 0;
  const recording = lines.map(({ time, from, native }) => ({
    t: Date.parse(time) - begun,
    from,
    line: redact(native),
  }));
  const adapter = adapterFor(flags.agent);
  const events = adapter === null ? [] : convertLines(adapter, recording.map(recordedFrom));
  const turns = events.flatMap((event) =>
    event.type === "turn.ended" ? [{ reason: event.data.reason, evidence: event.data.evidence }] : [],
  );
  const unparsed = events.filter(({ type }) => type === "agent.unparsed").length;
  const about = { agent: flags.agent, version, what: flags.what ?? prompt, turns, unparsed };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "native.jsonl"), recording.map((line) => `${JSON.stringify(line)}\n`).join(""));
  writeFileSync(join(folder, "about.json"), `${JSON.stringify(about, null, 2)}\n`);
  const end = ended === null ? "no turn ended" : `the turn ended: ${ended.data.reason}`;
  process.stdout.write(`${folder}: ${lines.length} lines, ${end}\n`);
  if (unparsed > 0) process.stderr.write(`franca: ${unparsed} lines fit no shape that is known of ${flags.agent}.\n`);
  if (turns.length !== 1) process.stderr.write(`franca: converted, it holds ${turns.length} turns; look at it.\n`);
}

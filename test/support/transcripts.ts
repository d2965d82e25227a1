/** The recorded truth: every folder of transcripts/, read once, the same way for all tests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { adapterFor } from "../../src/adapters/index.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import { type Recorded, readRecorded } from "../../src/dialects/recording.ts";
import { EndReason, Evidence } from "../../src/protocol/events.ts";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const transcriptsFolder = join(root, "transcripts");

/** Written by hand: what the agent's documentation says must come out, independent of goldens. */
export const About = z.strictObject({
  agent: z.string(),
  version: z.string(),
  what: z.string(),
  turns: z.array(z.strictObject({ reason: EndReason, evidence: Evidence })),
  /** How many lines fit no shape; none when absent. */
  unparsed: z.number().int().optional(),
});
export type About = z.infer<typeof About>;

export interface Transcript {
  /** `<agent>/<scenario>`. */
  readonly name: string;
  readonly folder: string;
  readonly adapter: Adapter;
  readonly about: About;
  readonly recording: readonly Recorded[];
}

const folders = listFolders();

export const transcripts: readonly Transcript[] = folders.flatMap((name) => readTranscript(name) ?? []);

/** Folders whose agent is not in src/adapters: they would be tested by nobody. */
export const orphans: readonly string[] = folders.filter((name) => !transcripts.some((one) => one.name === name));

export const transcriptsOf = (adapter: Adapter): readonly Transcript[] =>
  transcripts.filter((transcript) => transcript.adapter.agent === adapter.agent);

function listFolders(): string[] {
  if (!existsSync(transcriptsFolder)) return [];
  return readdirSync(transcriptsFolder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("native.jsonl"))
    .map((path) => dirname(path))
    .sort();
}

function readTranscript(name: string): Transcript | null {
  const folder = join(transcriptsFolder, name);
  const about = About.parse(JSON.parse(readFileSync(join(folder, "about.json"), "utf8")));
  const adapter = adapterFor(about.agent);
  if (adapter === null) return null;
  return { name, folder, adapter, about, recording: readRecording(join(folder, "native.jsonl")) };
}

function readRecording(file: string): Recorded[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .map(readRecorded)
    .filter((recorded) => recorded !== null);
}

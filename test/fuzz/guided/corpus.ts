/** Inputs that reached more than the recordings do, kept in corpus.json from one search to the next. */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";

const file = resolve("test/fuzz/guided/corpus.json");

/** Longer inputs are no reading, and more of them no small corpus. */
const MOST_LENGTH = 400;
const MOST_INPUTS = 12;

const Corpus = z.record(z.string(), z.array(z.string()));

const readCorpus = (): z.infer<typeof Corpus> => Corpus.parse(JSON.parse(readFileSync(file, "utf8")));

export const keptInputs = (target: string): Buffer[] => (readCorpus()[target] ?? []).map((text) => Buffer.from(text));

export function saveInputs(target: string, inputs: readonly Buffer[]): void {
  const texts = inputs.map((input) => input.toString("utf8")).filter((text) => text.length <= MOST_LENGTH);
  const kept = texts.filter((text) => !text.includes("\ufffd")).slice(-MOST_INPUTS);
  const all = Object.entries({ ...readCorpus(), [target]: kept })
    .filter(([, some]) => some.length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}

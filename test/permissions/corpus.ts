/**
 * Command lines with their expected verdict under each of the five rule sets: `a` allow, `?` ask, `d` deny. `OUT` is
 * the folder outside. A new trick is added here with the verdict it must have.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const Corpus = z.record(z.string(), z.record(z.string(), z.string().regex(/^[a?d]{5}$/)));

export interface CorpusLine {
  readonly group: string;
  readonly line: string;
  readonly verdicts: string;
}

export function readCorpus(): readonly CorpusLine[] {
  const groups = Corpus.parse(JSON.parse(readFileSync(join(import.meta.dirname, "corpus.json"), "utf8")));
  return Object.entries(groups).flatMap(([group, lines]) =>
    Object.entries(lines).map(([line, verdicts]) => ({ group, line, verdicts })),
  );
}

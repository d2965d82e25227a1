/** Searches for the planted bugs, guided and blind, with as many executions and the same seed; prints the results. */
import type { Target } from "./attempt.ts";
import { openCoverage } from "./coverage.ts";
import { search } from "./search.ts";

const [, , executions = "", seed = ""] = process.argv;

const coverage = openCoverage(import.meta.url);
const { countTwins, readParcel } = await import("./planted.ts");

const planted = (first: string, read: (text: string) => void): Target => ({
  name: "planted",
  watches: (path) => path === "test/fuzz/guided/planted.ts",
  form: "lines",
  batch: 64,
  seeds: () => [Buffer.from(first)],
  run: { kind: "sync", once: (input) => read(input.toString("utf8")) },
});

const parcel = planted('{"kind":"letter","to":"somebody","weight":20,"stamps":"two"}', readParcel);
const twins = planted("abc", countTwins);

await report(parcel, { guided: true });
await report(parcel, { guided: false });
await report(parcel, { guided: true });
await report(twins, { guided: true });

/** Until something is found, or so many have run. */
async function report(target: Target, { guided }: { readonly guided: boolean }): Promise<void> {
  let isFound = false;
  const { findings, corpus, ...figures } = await search({
    target,
    coverage,
    seed: Number(seed),
    guided,
    goesOn: (done) => done < Number(executions) && !isFound,
    onFinding: () => {
      isFound = true;
    },
  });
  const found = findings.map(({ input, error }) => ({ input: input.toString("utf8"), message: error.message }));
  console.log(JSON.stringify({ ...figures, corpus: corpus.map(String), findings: found }));
}

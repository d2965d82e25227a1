/** The pure middle alone: native lines to universal events to OpenCode's, beside parsing and printing the lines. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { adapterFor } from "../src/adapters/index.ts";
import { defaultPolicy } from "../src/core/input.ts";
import { openSession } from "../src/core/session.ts";
import { findProjection } from "../src/projections/index.ts";
import { sessionId } from "../src/protocol/ids.ts";
import { atMost, inTurns, type Measurement, median, timed, times } from "./measure.ts";

const AGENTS = ["claude", "codex", "opencode"] as const;
const REPEATS = 60;

interface Stream {
  readonly agent: string;
  readonly lines: readonly string[];
}

/** What the agents said in every recording, as they said it. */
const streamsOf = (agent: string): Stream[] =>
  readdirSync(join("transcripts", agent)).map((scenario) => {
    const file = readFileSync(join("transcripts", agent, scenario, "native.jsonl"), "utf8");
    const said = file.split("\n").flatMap((line) => {
      if (line === "") return [];
      const { from, line: native }: { from: string; line: unknown } = JSON.parse(line);
      return from === "agent" ? [JSON.stringify(native)] : [];
    });
    return { agent, lines: said };
  });

function translate({ agent, lines }: Stream): void {
  const adapter = adapterFor(agent);
  const projection = findProjection("opencode")?.open();
  if (adapter === null || projection === undefined) throw new Error(`There is no ${agent}.`);
  const session = openSession({ sessionId: sessionId("s"), adapter, policy: defaultPolicy, connected: true });
  lines.forEach((text, at) => {
    const { events } = session.step({ type: "line", from: "agent", line: JSON.parse(text), at });
    for (const event of events) for (const told of projection.step(event)) JSON.stringify(told);
  });
}

function parseAndPrint({ lines }: Stream): void {
  for (const text of lines) JSON.stringify(JSON.parse(text));
}

export const translation: Measurement = {
  name: "translate",
  quick: true,
  async run() {
    const results = [];
    for (const agent of AGENTS) {
      const streams = streamsOf(agent);
      const all = (work: (stream: Stream) => void) => () => timed(() => streams.forEach(work));
      const taken = await inTurns(REPEATS, [all(translate), all(parseAndPrint)]);
      // The first rounds are the compiler's.
      const ratios = taken.ours.map((ours, round) => ours / (taken.theirs[round] ?? ours)).slice(REPEATS / 2);
      const ratio = median(ratios);
      const what = `${agent} → universal → OpenCode, beside JSON.parse + JSON.stringify`;
      results.push({ what, measured: times(ratio), target: atMost(ratio, 3) });
    }
    return results;
  },
};

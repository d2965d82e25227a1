/** Everything that is fuzzed by coverage, by name. */
import { adapters } from "../../../src/adapters/index.ts";
import { agentFiles } from "../../../src/adapters/session-files.ts";
import { adapterTarget, filesTarget } from "./agent-targets.ts";
import type { Target } from "./attempt.ts";
import { textTargets } from "./text-targets.ts";

const openers: Readonly<Record<string, () => Promise<Target>>> = {
  ...Object.fromEntries(Object.entries(textTargets).map(([name, open]) => [name, async () => open()])),
  ...Object.fromEntries(adapters.map((adapter) => [`adapter:${adapter.agent}`, async () => adapterTarget(adapter)])),
  ...Object.fromEntries(agentFiles.map((one) => [`files:${one.files.form}`, async () => filesTarget(one)])),
  // The server is loaded only where it is used: the more there is, the longer each look at the coverage takes.
  "requests:v1": async () => (await import("./http-targets.ts")).requestTargets["requests:v1"](),
  "requests:opencode": async () => (await import("./http-targets.ts")).requestTargets["requests:opencode"](),
};

export const targetNames: readonly string[] = Object.keys(openers);

export async function openTarget(name: string): Promise<Target> {
  const open = openers[name];
  if (open === undefined) throw new Error(`There is no target ${name}: choose one of ${targetNames.join(", ")}.`);
  return open();
}

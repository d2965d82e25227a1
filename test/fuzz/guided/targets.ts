/**
 * Everything that is fuzzed by coverage, by name. Only what a target needs is loaded: the more code there is, the
 * longer each look at the coverage takes.
 */
import type { Target } from "./attempt.ts";

const loadAgents = async () => (await import("./agent-targets.ts")).agentTargets();
const loadTexts = async () => (await import("./text-targets.ts")).textTargets;
const loadRequests = async () => (await import("./http-targets.ts")).requestTargets;

type Openers = Readonly<Record<string, () => Target | Promise<Target>>>;

const families: Readonly<Record<string, () => Promise<Openers>>> = {
  adapter: loadAgents,
  files: loadAgents,
  requests: loadRequests,
};

export async function targetNames(): Promise<readonly string[]> {
  const loaded = [await loadTexts(), await loadAgents(), await loadRequests()];
  return loaded.flatMap((openers) => Object.keys(openers));
}

export async function openTarget(name: string): Promise<Target> {
  const openers: Openers = await (families[name.split(":")[0] ?? ""] ?? loadTexts)();
  const open = openers[name];
  if (open === undefined) throw new Error(`There is no target ${name}.`);
  return open();
}

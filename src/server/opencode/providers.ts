/** Agents as OpenCode's providers, their models as its models, their modes as its agents. */
import { defined } from "../../core/defined.ts";
import { DEFAULT_MODE, DEFAULT_MODEL } from "../../projections/opencode/index.ts";
import type { AgentSummary, ModelSummary } from "../../protocol/resources.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { PLAN_MODE } from "./modes.ts";

export interface Catalogue {
  readonly providers: () => Promise<readonly Provider[]>;
  /** The modes of one agent: none that it would refuse. */
  readonly agents: (agent: string) => Promise<readonly OpenCodeAgent[]>;
  /** Whether prompts of the agent may carry this beside words and files. */
  readonly takes: (agent: string, extra: string) => Promise<boolean>;
  /** Whether the agent is OpenCode in some form, which keeps the rules of its configuration itself. */
  readonly readsOpenCodeConfig: (agent: string) => Promise<boolean>;
  /** Who takes back a conversation: the agent itself, the host for it, or nobody. */
  readonly takesBack: (agent: string) => Promise<"agent" | "host" | "nobody">;
}

export interface Provider {
  readonly id: string;
  readonly name: string;
  readonly source: "custom";
  readonly env: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly models: Readonly<Record<string, OpenCodeModel>>;
  readonly defaultModel: string;
}

export interface OpenCodeAgent {
  readonly name: string;
  readonly description: string;
  readonly mode: "primary";
  readonly native: boolean;
  readonly permission: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Which agents are installed changes seldom; the TUI asks for it seven times when it starts. */
const FRESH_MS = 15_000;
const PATIENCE_MS = 5_000;

export function openCatalogue(sessions: Sessions): Catalogue {
  const installed = cached(async () => (await sessions.agents()).filter((agent) => agent.installed));
  const providers = cached(async () => {
    const agents = await installed();
    return Promise.all(agents.map((agent) => describeProvider(sessions, agent)));
  });
  const modes = new Map<string, () => Promise<readonly OpenCodeAgent[]>>();
  const agents = async (agent: string): Promise<readonly OpenCodeAgent[]> => {
    const known = modes.get(agent) ?? cached(async () => modesOf(sessions, (await installed()).find(isCalled(agent))));
    modes.set(agent, known);
    return known();
  };
  const takes = async (agent: string, extra: string): Promise<boolean> => {
    const extras = (await installed()).find(({ id }) => id === agent)?.capabilities.extras;
    return Array.isArray(extras) && extras.includes(extra);
  };
  const takesBack = async (agent: string): Promise<"agent" | "host" | "nobody"> => {
    const { asks, rewind } = (await installed()).find(isCalled(agent))?.capabilities ?? {};
    if (Array.isArray(asks) && asks.includes("revert")) return "agent";
    return rewind === true ? "host" : "nobody";
  };
  const readsOpenCodeConfig = async (agent: string): Promise<boolean> =>
    agent.startsWith("opencode") || (await installed()).find(isCalled(agent))?.capabilities.permissionRules === true;
  return { providers, agents, takes, takesBack, readsOpenCodeConfig };
}

const isCalled =
  (agent: string) =>
  ({ id }: AgentSummary): boolean =>
    id === agent;

async function modesOf(sessions: Sessions, agent: AgentSummary | undefined): Promise<readonly OpenCodeAgent[]> {
  const build = modeAs(DEFAULT_MODE, "The agent's own default mode.");
  if (agent === undefined) return [build];
  const { permissionModes } = agent.capabilities;
  const plans = Array.isArray(permissionModes) && permissionModes.includes(PLAN_MODE);
  const described = new Map([[DEFAULT_MODE, build]]);
  if (plans) described.set(PLAN_MODE, modeAs(PLAN_MODE, "Looks and plans, changes nothing."));
  // What an agent calls `default` is `build` here.
  const own = (await sessions.modes(agent.id)).filter(({ id }) => id !== "default");
  for (const { id, description } of own) described.set(id, modeAs(id, description));
  return [...described.values()];
}

const modeAs = (name: string, description: string): OpenCodeAgent => ({
  name,
  description,
  mode: "primary",
  native: true,
  permission: [],
  options: {},
});

async function describeProvider(sessions: Sessions, { id, name }: AgentSummary): Promise<Provider> {
  const { models = [], defaultModel } = await promptly(sessions.models(id));
  // Whatever the agent chooses by itself is one of its own; where it does not say which, the first is the best guess.
  const chosen = models.find((model) => model.id === defaultModel) ?? models[0];
  const own: ModelSummary = { id: DEFAULT_MODEL, name: "Default model", ...defined({ limit: chosen?.limit }) };
  const all = [own, ...models.filter((model) => model.id !== DEFAULT_MODEL)];
  return {
    id,
    name,
    source: "custom",
    env: [],
    options: {},
    models: Object.fromEntries(all.map((model) => [model.id, modelAs(id, model)])),
    defaultModel: defaultModel ?? DEFAULT_MODEL,
  };
}

/** A client that starts waits for this list: an agent that lists its models slowly is shown without them first. */
async function promptly(listing: ReturnType<Sessions["models"]>): Promise<Partial<Awaited<typeof listing>>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Record<string, never>>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, {});
  });
  try {
    return await Promise.race([listing.catch(() => ({})), late]);
  } finally {
    clearTimeout(timer);
  }
}

export type OpenCodeModel = ReturnType<typeof modelAs>;

const media = { text: true, audio: false, image: true, video: false, pdf: false } as const;

function modelAs(providerID: string, { id, name, variants, limit, cost }: ModelSummary) {
  return {
    id,
    providerID,
    api: { id, url: "", npm: "" },
    name: name ?? id,
    capabilities: {
      temperature: false,
      reasoning: true,
      attachment: true,
      toolcall: true,
      input: media,
      output: { ...media, image: false },
      interleaved: false,
    },
    // OpenCode's clients want numbers, and 0 is how OpenCode says that it does not know.
    cost: {
      input: cost?.input ?? 0,
      output: cost?.output ?? 0,
      cache: { read: cost?.cacheRead ?? 0, write: cost?.cacheWrite ?? 0 },
    },
    limit: { context: limit?.context ?? 0, output: limit?.output ?? 0 },
    status: "active" as const,
    options: {},
    headers: {},
    release_date: "",
    ...defined({ variants: variants && Object.fromEntries(variants.map((variant) => [variant, {}])) }),
  };
}

function cached<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: { readonly value: Promise<Value>; readonly at: number } | null = null;
  return () => {
    if (made !== null && performance.now() - made.at < FRESH_MS) return made.value;
    const value = make();
    made = { value, at: performance.now() };
    value.catch(() => {
      made = null;
    });
    return value;
  };
}

/**
 * What the server says about itself and its place: providers, agents, config, project. Empty where there is nothing.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { DEFAULT_MODEL, OPENCODE_VERSION, projectId } from "../../projections/opencode/index.ts";
import { allSessions } from "../../runtime/session/every-session.ts";
import { branchOf, gitStatus } from "./git.ts";
import type { OpenCodeAgent, Provider } from "./providers.ts";
import { json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";

const empty = (path: string, value: unknown, partial: string): OpenCodeRoute => ({
  method: "GET",
  path,
  action: "read",
  partial,
  handle: async () => json(value),
});

const OWN = "It belongs to the agents themselves.";

export const serverInfoRoutes: readonly OpenCodeRoute[] = [
  {
    method: "GET",
    path: "/global/health",
    action: "read",
    handle: async () => json({ healthy: true, version: OPENCODE_VERSION }),
  },
  { method: "GET", path: "/api/health", action: "read", handle: async () => json({ healthy: true }) },
  {
    method: "GET",
    path: "/config",
    action: "read",
    partial: "The model to begin with; the rest is the agents' own.",
    handle: config,
  },
  { method: "GET", path: "/global/config", action: "read", partial: "As `/config`.", handle: config },
  { method: "GET", path: "/config/providers", action: "read", handle: configProviders },
  { method: "GET", path: "/provider", action: "read", handle: providers },
  empty("/provider/auth", {}, "Always empty: agents log in by themselves."),
  {
    method: "GET",
    path: "/agent",
    action: "read",
    handle: async ({ catalogue, agent }) => json(await catalogue.agents(agent)),
  },
  empty(
    "/command",
    [],
    "Always empty: agents do not report their commands; `/session/{sessionID}/command` takes them.",
  ),
  empty("/skill", [], `Always empty. ${OWN}`),
  empty("/mcp", {}, `Always empty. ${OWN}`),
  empty("/lsp", [], "Always empty: there are no language servers."),
  empty("/formatter", [], "Always empty: there are no formatters."),
  empty("/experimental/capabilities", { backgroundSubagents: false }, "None are claimed."),
  empty("/experimental/console", { consoleManagedProviders: [], switchableOrgCount: 0 }, "There is no console."),
  empty("/experimental/resource", {}, `Always empty. ${OWN}`),
  empty("/experimental/workspace", [], "Always empty: there are no workspaces."),
  empty("/experimental/workspace/status", [], "Always empty: there are no workspaces."),
  { method: "GET", path: "/path", action: "read", handle: paths },
  { method: "GET", path: "/project", action: "read", handle: async (call) => json(await projects(call)) },
  {
    method: "GET",
    path: "/project/current",
    action: "read",
    handle: async ({ directory }) => json(await project(directory)),
  },
  {
    method: "GET",
    path: "/project/{projectID}/directories",
    action: "read",
    handle: async ({ directory }) => json([{ directory }]),
  },
  { method: "GET", path: "/vcs", action: "read", partial: "Without the default branch.", handle: vcs },
  {
    method: "GET",
    path: "/vcs/status",
    action: "read",
    handle: async (call) =>
      json(
        (await gitStatus(call)).map(({ path: file, added: additions, removed: deletions, status }) => ({
          file,
          additions,
          deletions,
          status,
        })),
      ),
  },
  { method: "POST", path: "/log", action: "read", handle: log },
  { method: "GET", path: "/api/location", action: "read", handle: async ({ directory }) => json(location(directory)) },
  {
    method: "GET",
    path: "/api/agent",
    action: "read",
    handle: async (call) => located(call, (await call.catalogue.agents(call.agent)).map(nextAgent)),
  },
  {
    method: "GET",
    path: "/api/provider",
    action: "read",
    handle: async (call) => located(call, (await call.catalogue.providers()).map(nextProvider)),
  },
  {
    method: "GET",
    path: "/api/provider/{providerID}",
    action: "read",
    async handle(call) {
      const found = (await call.catalogue.providers()).find(({ id }) => id === call.params.providerID);
      if (found === undefined) return providerMissing(call.params.providerID ?? "");
      return json({ location: location(call.directory), data: nextProvider(found) });
    },
  },
  {
    method: "GET",
    path: "/api/model",
    action: "read",
    handle: async (call) => located(call, (await call.catalogue.providers()).flatMap(nextModels)),
  },
  ...["integration", "reference", "command", "skill"].map(
    (name): OpenCodeRoute => ({
      method: "GET",
      path: `/api/${name}`,
      action: "read",
      partial: `Always empty. ${OWN}`,
      handle: async (call) => located(call, []),
    }),
  ),
];

const providerMissing = (providerID: string): OpenCodeAnswer => ({
  json: { _tag: "ProviderNotFoundError", providerID, message: `Provider not found: ${providerID}` },
  status: 404,
});

async function config({ agent }: OpenCodeCall): Promise<OpenCodeAnswer> {
  return json({ model: `${agent}/${DEFAULT_MODEL}`, share: "disabled", autoupdate: false });
}

const asProvider = ({ defaultModel: _, ...provider }: Provider) => provider;
const defaults = (all: readonly Provider[]) =>
  Object.fromEntries(all.map(({ id, defaultModel }) => [id, defaultModel]));

/** The agent that a client begins with is first. */
async function ordered({ catalogue, agent }: OpenCodeCall): Promise<readonly Provider[]> {
  const all = await catalogue.providers();
  return [...all.filter(({ id }) => id === agent), ...all.filter(({ id }) => id !== agent)];
}

async function configProviders(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const all = await ordered(call);
  return json({ providers: all.map(asProvider), default: defaults(all) });
}

async function providers(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const all = await ordered(call);
  return json({ all: all.map(asProvider), default: defaults(all), connected: all.map(({ id }) => id) });
}

async function paths({ directory }: OpenCodeCall): Promise<OpenCodeAnswer> {
  const home = homedir();
  const state = join(home, ".local", "state", "opencode");
  const folder = join(home, ".config", "opencode");
  return json({ home, state, config: folder, worktree: directory, directory });
}

async function project(directory: string) {
  const vcs = (await branchOf(directory)) === null ? {} : { vcs: "git" };
  return { id: projectId(directory), worktree: directory, ...vcs, time: { created: 0, updated: 0 }, sandboxes: [] };
}

async function projects({ sessions, directory }: OpenCodeCall) {
  const all = new Set([directory, ...(await allSessions(sessions)).map((session) => session.directory)]);
  return Promise.all([...all].filter((one) => one !== "").map(project));
}

async function vcs({ directory }: OpenCodeCall): Promise<OpenCodeAnswer> {
  const branch = await branchOf(directory);
  return json(branch === null ? {} : { branch });
}

const Log = z.looseObject({ service: z.string(), level: z.string(), message: z.string() });

const SERVICE = /^[\w.:/-]{1,64}$/;

/** Of a client's message only its length is logged: the text may contain secrets of a session. */
async function log(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { service, level, message } = await call.body(Log);
  const fields = { service: SERVICE.test(service) ? service : "-", characters: message.length };
  if (level === "error") call.logger.error("client.logged", fields);
  else if (level === "warn") call.logger.warn("client.logged", fields);
  else call.logger.debug("client.logged", fields);
  return json(true);
}

const location = (directory: string) => ({ directory, project: { id: projectId(directory), directory } });
export const located = ({ directory }: OpenCodeCall, data: readonly unknown[]): OpenCodeAnswer =>
  json({ location: location(directory), data });

const request = { headers: {}, body: {} };

const nextAgent = ({ name, description, mode }: OpenCodeAgent) => ({
  id: name,
  request,
  description,
  mode,
  hidden: false,
  permissions: [],
});

const nextProvider = ({ id, name }: Provider) => ({ id, name, api: { type: "native", settings: {} }, request });

function nextModels({ id: providerID, models }: Provider) {
  return Object.values(models).map(({ id, name, limit, cost, variants }) => ({
    id,
    providerID,
    name,
    api: { id, type: "native", settings: {} },
    capabilities: { tools: true, input: ["text", "image"], output: ["text"] },
    request,
    variants: Object.keys(variants ?? {}).map((variant) => ({ id: variant, headers: {}, body: {} })),
    time: { released: 0 },
    cost: cost.input === 0 && cost.output === 0 ? [] : [cost],
    status: "active",
    enabled: true,
    limit,
  }));
}

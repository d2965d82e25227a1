/** Routes about agents: which there are, what they offer, and installing one. */
import { defined } from "../../core/defined.ts";
import { InstallAgent } from "../../protocol/requests.ts";
import { defineRoute, empty, json, type Route } from "../http/route.ts";

const list = defineRoute({
  method: "get",
  path: "/v1/agents",
  access: "read",
  doc: {
    id: "listAgents",
    tag: "Agents",
    summary: "List agents",
    description: "All agents that Franca knows, installed or not, with what each of them can do.",
    errors: [],
    answers: "json",
  },
  answer: "AgentList",
  handle: async ({ sessions }) => json({ agents: await sessions.agents() }),
});

const models = defineRoute({
  method: "get",
  path: "/v1/agents/{agent}/models",
  access: "read",
  doc: {
    id: "listModels",
    tag: "Agents",
    summary: "List the models of an agent",
    description: "As the agent itself reports them. Use an `id` as `model` of a session.",
    errors: ["unsupported_agent", "agent_not_installed"],
    answers: "json",
  },
  answer: "ModelList",
  handle: async ({ sessions, params }) => json(await sessions.models(params.agent ?? "")),
});

const modes = defineRoute({
  method: "get",
  path: "/v1/agents/{agent}/modes",
  access: "read",
  doc: {
    id: "listModes",
    tag: "Agents",
    summary: "List the modes of an agent",
    description: "Use an `id` as `agentMode` of a session.",
    errors: ["unsupported_agent"],
    answers: "json",
  },
  answer: "ModeList",
  handle: async ({ sessions, params }) => json({ modes: await sessions.modes(params.agent ?? "") }),
});

const install = defineRoute({
  method: "post",
  path: "/v1/agents/{agent}/install",
  doc: {
    id: "installAgent",
    tag: "Agents",
    summary: "Install an agent",
    description:
      "Installs its program into Franca's own tools folder: the version that Franca was tested with, or `version`.",
    errors: ["unsupported_agent", "not_supported", "install_failed"],
    answers: "empty",
  },
  body: InstallAgent,
  bodyOptional: true,
  handle: async ({ sessions, params, body: { version, reinstall } }) => {
    await sessions.install(params.agent ?? "", defined({ version, reinstall }));
    return empty();
  },
});

const uninstall = defineRoute({
  method: "delete",
  path: "/v1/agents/{agent}/install",
  doc: {
    id: "uninstallAgent",
    tag: "Agents",
    summary: "Uninstall an agent",
    description: "Removes the program that Franca installed. A program that you installed yourself is not touched.",
    errors: ["unsupported_agent", "not_supported"],
    answers: "empty",
  },
  handle: async ({ sessions, params }) => {
    await sessions.uninstall(params.agent ?? "");
    return empty();
  },
});

export const agentRoutes: readonly Route[] = [list, models, modes, install, uninstall];

/** Sessions of a daemon, reached with the SDK like anybody else would. */
import { hasCode } from "../protocol/errors.ts";
import { openHttp } from "../sdk/http.ts";
import { type ConnectOptions, connect } from "../sdk/index.ts";
import type { Door } from "./door.ts";
import { sendKeys } from "./keys.ts";
import { nodeFetch } from "./node-fetch.ts";

function leftAlone(error: unknown): false {
  if (hasCode(error, "session_busy", "session_not_found", "session_owned")) return false;
  throw error;
}

export function remoteDoor(options: ConnectOptions & { readonly url: string; readonly data: string }): Door {
  const over = { ...options, fetch: nodeFetch };
  const client = connect(over);
  const http = openHttp(over);
  return {
    url: options.url,
    create: async (id, body) => (await client.create({ ...body, id })).created,
    list: (filter) => client.sessions(filter),
    get: (id) => client.session(id).get(),
    discover: (query) => client.discover(query),
    adopt: (request) => client.adopt(request),
    prompt: async (id, text, { attachments = [], budget } = {}) => {
      const session = client.session(id);
      // Read before the prompt is sent: nothing of its turn can be below.
      const { lastSequence } = await session.get({ limit: 0 });
      return { promptId: await session.prompt(text, { attachments, budget }), sequence: lastSequence };
    },
    abort: (id, promptId) => client.session(id).abort(promptId === undefined ? {} : { promptId }),
    replyPermission: (id, permission, { reply, ...options }) =>
      client.session(id).replyPermission(permission, reply, options),
    replyQuestion: (id, question, answers) => client.session(id).replyQuestion(question, answers),
    rejectQuestion: (id, question) => client.session(id).rejectQuestion(question),
    stopContinuing: (id) => client.session(id).stopContinuing(),
    delete: (id) => client.session(id).delete(),
    prune: async ({ olderThanMs }) => {
      const before = Date.now() - olderThanMs;
      const old = (await client.sessions({ status: "idle" })).filter(({ updatedAt }) => Date.parse(updatedAt) < before);
      const deleted: string[] = [];
      for (const { sessionId, updatedAt } of old) {
        // Used after all, or deleted by somebody else: then it is none of ours.
        const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
        const asked = { method: "DELETE", query: { idleSince: updatedAt } } as const;
        if (await http.request(path, asked).then(() => true, leftAlone)) deleted.push(sessionId);
      }
      return deleted;
    },
    events: (id, page) => client.session(id).listEvents(page),
    native: (id, page) => client.session(id).listNative(page),
    follow: (id, query) => client.session(id).events(query),
    trust: (directory) => client.trust(directory),
    addTrust: (directory, body) => client.addTrust(directory, body),
    removeTrust: (directory) => client.removeTrust(directory),
    update: (id, change) => client.session(id).update(change),
    fork: (id) => client.session(id).fork(),
    diff: (id) => client.session(id).diff(),
    worktrees: () => client.worktrees(),
    removeWorktree: (id, asked) => client.removeWorktree(id, asked),
    sessionEnv: {},
    giveKeys: (id, agent) => sendKeys({ ...options, http, id, agent, env: process.env }),
    usage: (query) => client.usage(query),
    agents: () => client.agents(),
    defaultAgent: async () => (await client.agents()).find(({ isDefault }) => isDefault === true)?.id ?? null,
    models: (agent) => client.models(agent),
    uninstall: async (agent) =>
      void (await http.request(`/v1/agents/${encodeURIComponent(agent)}/install`, { method: "DELETE" })),
    install: (agent, body) => client.installAgent(agent, body),
    makeLoginCode: async () => (await client.makeLoginCode()).code,
    close: async () => {},
  };
}

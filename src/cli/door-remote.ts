/** Sessions of a daemon, reached with the SDK like anybody else would. */
import { type ConnectOptions, connect } from "../sdk/index.ts";
import type { Door } from "./door.ts";

export function remoteDoor(options: ConnectOptions & { readonly url: string }): Door {
  const client = connect(options);
  return {
    url: options.url,
    create: async (id, body) => (await client.create({ ...body, id })).created,
    list: (filter) => client.sessions(filter),
    get: (id) => client.session(id).get(),
    prompt: async (id, text) => {
      const session = client.session(id);
      // Read before the prompt is sent: nothing of its turn can be below.
      const { lastSequence } = await session.get({ limit: 0 });
      return { promptId: await session.prompt(text), sequence: lastSequence };
    },
    abort: (id) => client.session(id).abort(),
    replyPermission: (id, permission, reply) => client.session(id).replyPermission(permission, reply),
    replyQuestion: (id, question, answers) => client.session(id).replyQuestion(question, answers),
    rejectQuestion: (id, question) => client.session(id).rejectQuestion(question),
    stopContinuing: (id) => client.session(id).stopContinuing(),
    delete: (id) => client.session(id).delete(),
    prune: async ({ olderThanMs }) => {
      const before = Date.now() - olderThanMs;
      const old = (await client.sessions({ status: "idle" })).filter(({ updatedAt }) => Date.parse(updatedAt) < before);
      for (const { sessionId } of old) await client.session(sessionId).delete();
      return old.map(({ sessionId }) => sessionId);
    },
    events: (id, page) => client.session(id).listEvents(page),
    native: (id, page) => client.session(id).listNative(page),
    follow: (id, query) => client.session(id).events(query),
    trust: (directory) => client.trust(directory),
    addTrust: (directory, body) => client.addTrust(directory, body),
    removeTrust: (directory) => client.removeTrust(directory),
    agents: () => client.agents(),
    install: (agent, body) => client.installAgent(agent, body),
    close: async () => {},
  };
}

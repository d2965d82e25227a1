/** Sessions of this process: the data folder is open here. */
import { randomUUID } from "node:crypto";
import { defined } from "../core/defined.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { sessionId } from "../protocol/ids.ts";
import type { Sessions } from "../runtime/session/contract.ts";
import { allSessions } from "../runtime/session/every-session.ts";
import type { Door, FollowQuery } from "./door.ts";

const ALIVE_MS = 3_600_000;

/** Sessions of this process, as commands see them. */
export function embeddedDoor(sessions: Sessions): Door {
  // An agent that is silent leaves nothing that would keep this process from ending in the middle of its turn.
  const alive = setInterval(() => {}, ALIVE_MS);
  async function* follow(id: string, query: FollowQuery): AsyncGenerator<UniversalEvent> {
    for await (const group of sessions.follow(sessionId(id), query)) yield* group.events(query.after);
  }
  return {
    url: null,
    create: (id, options) => sessions.create(sessionId(id), options),
    list: (filter) => allSessions(sessions, filter),
    get: (id) => sessions.get(sessionId(id)),
    discover: (query) => sessions.discover(query),
    adopt: ({ agent, nativeSessionId, fork = false }) => sessions.adopt({ agent, nativeSessionId, fork }),
    prompt: (id, text, { attachments = [], budget } = {}) =>
      sessions.prompt(sessionId(id), { text, attachments, ...defined({ budget }) }),
    update: (id, change) => sessions.update(sessionId(id), change),
    diff: (id) => sessions.diff(sessionId(id)),
    worktrees: () => sessions.worktrees(),
    removeWorktree: (id, options) => sessions.removeWorktree(sessionId(id), options),
    fork: async (id) => {
      const into = sessionId(randomUUID());
      await sessions.fork(sessionId(id), into);
      return into;
    },
    sessionEnv: {},
    // The agent gets them from this process.
    giveKeys: async () => {},
    abort: (id, promptId) => sessions.abort(sessionId(id), { clearQueue: false, ...defined({ promptId }) }),
    replyPermission: (id, permission, answer) => sessions.replyPermission(sessionId(id), permission, answer),
    replyQuestion: (id, question, answers) => sessions.replyQuestion(sessionId(id), question, answers),
    rejectQuestion: (id, question) => sessions.rejectQuestion(sessionId(id), question, {}),
    stopContinuing: (id) => sessions.stopContinuing(sessionId(id)),
    delete: (id) => sessions.delete(sessionId(id)),
    prune: (options) => sessions.prune(options),
    events: (id, page) => sessions.events(sessionId(id), page),
    native: (id, page) => sessions.native(sessionId(id), page),
    follow,
    trust: async (directory) => ({
      folders: sessions.trust.list(),
      ...defined({ trusted: directory === undefined ? undefined : sessions.trust.isTrusted(directory) }),
    }),
    addTrust: (directory, options) => sessions.trust.add(directory, options),
    removeTrust: async (directory) => void (await sessions.trust.remove(directory)),
    usage: (query) => sessions.usage(query),
    agents: () => sessions.agents(),
    defaultAgent: async () => sessions.defaultAgent(),
    models: (agent) => sessions.models(agent),
    uninstall: (agent) => sessions.uninstall(agent),
    install: (agent, options) => sessions.install(agent, options),
    makeLoginCode: null,
    close: () => {
      clearInterval(alive);
      return sessions.close();
    },
  };
}

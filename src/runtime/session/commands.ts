/** The table of commands: each opens the session by its id if need be, and keeps it open meanwhile. */
import type { Session } from "../../core/session.ts";
import { PermissionId, QuestionId, type SessionId } from "../../protocol/id-schemas.ts";
import { changeAgent } from "./change-agent.ts";
import type { AdoptOptions, Sessions } from "./contract.ts";
import { forkSession } from "./create.ts";
import { deleteSession, pruneSessions } from "./delete.ts";
import { giveKeys, missingKeys } from "./keys.ts";
import type { OpenSession, OpenSessions } from "./open-session.ts";
import { withSession } from "./open-sessions.ts";
import { createPlaced, moveSession } from "./placement.ts";
import { prompt } from "./prompt.ts";
import { refuseEnded } from "./refusals.ts";
import { markRevert } from "./rewind.ts";
import { sideRequest } from "./side-requests.ts";
import { abort, answer, checkScope, compact, dropQueued, shell, terminate } from "./turn-commands.ts";
import { update } from "./update.ts";

export type Commands = Pick<
  Sessions,
  | "create"
  | "discover"
  | "adopt"
  | "update"
  | "changeAgent"
  | "prompt"
  | "missingKeys"
  | "giveKeys"
  | "abort"
  | "dropQueued"
  | "compact"
  | "shell"
  | "fork"
  | "sideRequest"
  | "revert"
  | "stopContinuing"
  | "notice"
  | "terminate"
  | "delete"
  | "prune"
  | "move"
>;

export function commands(table: OpenSessions): Commands {
  const { runtime } = table;
  const on = <T>(id: SessionId, work: (open: OpenSession) => Promise<T>): Promise<T> => withSession(table, id, work);
  return {
    create: (id, asked) => createPlaced(table, { id, asked }, null),
    move: (id, to) => moveSession(table, { id, to }, null),
    // What knows the files of every agent is loaded by the few who ask for it.
    discover: async (query) => (await import("./discover.ts")).discover(runtime, query),
    adopt: oneAfterTheOther(async (options: AdoptOptions) => (await import("./adopt.ts")).adopt(table, options)),
    update: (id, asked, { standIn = false } = {}) => on(id, (open) => update(runtime, open, { asked, standIn })),
    changeAgent: (id, choice) => on(id, (open) => changeAgent(table, open, choice)),
    prompt: (id, request) => on(id, (open) => prompt(runtime, open, request)),
    missingKeys: (id) => on(id, async (open) => missingKeys(runtime, open)),
    giveKeys: (id, keys) => on(id, (open) => giveKeys(runtime, open, keys)),
    abort: (id, options) => on(id, (open) => abort(open, options)),
    dropQueued: (id, promptId) => on(id, (open) => dropQueued(open, promptId)),
    compact: (id) => on(id, compact),
    shell: (id, command, { clientId } = {}) => on(id, (open) => shell(runtime, open, { command, clientId })),
    fork: (id, into, { at } = {}) => on(id, (open) => forkSession(table, open, { into, at })),
    sideRequest: (id, request) => on(id, (open) => sideRequest(runtime, open, request)),
    revert: (id, mark) => on(id, (open) => markRevert(open, mark)),
    stopContinuing: (id) => on(id, stopContinuing),
    notice: (id, notice) => on(id, async (open) => open.writer.feed({ type: "notice", ...notice })),
    terminate: (id) => on(id, (open) => terminate(runtime, open)),
    delete: (id, options) => deleteSession(table, id, options),
    prune: (options) => pruneSessions(table, options),
  };
}

/** Calls wait for each other: two imports of one conversation would both find it new. */
function oneAfterTheOther<In, Out>(work: (given: In) => Promise<Out>): (given: In) => Promise<Out> {
  let last: Promise<unknown> = Promise.resolve();
  return (given) => {
    const next = last.then(() => work(given));
    last = next.catch(() => {});
    return next;
  };
}

async function stopContinuing(open: OpenSession): Promise<void> {
  refuseEnded(open);
  await open.writer.command({ type: "stop_continuing" });
}

export type Answers = Pick<Sessions, "replyPermission" | "replyQuestion" | "rejectQuestion">;

/** Answers to what an agent has requested from a person. */
export function answers(table: OpenSessions): Answers {
  return {
    replyPermission: (id, permission, reply) =>
      withSession(table, id, (open) => {
        const permission_id = PermissionId.parse(permission);
        const command = { type: "permission.reply" as const, permission_id, ...reply };
        const check = (session: Session): void => checkScope(session, permission, reply);
        return answer(open, { id: permission, kind: "permission", command, check });
      }),
    replyQuestion: (id, question, given) =>
      withSession(table, id, (open) => {
        const question_id = QuestionId.parse(question);
        const command = { type: "question.reply" as const, question_id, answers: given };
        return answer(open, { id: question, kind: "question", command });
      }),
    rejectQuestion: (id, question, { message }) =>
      withSession(table, id, (open) => {
        const question_id = QuestionId.parse(question);
        const why = message === undefined ? {} : { message };
        const command = { type: "question.reject" as const, question_id, ...why };
        return answer(open, { id: question, kind: "question", command });
      }),
  };
}

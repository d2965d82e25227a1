/**
 * Commands through any host: one for a session of another host is stored for that host, which executes it once and
 * answers. It stands between the door and the commands, so every surface has it.
 */
import { randomUUID } from "node:crypto";
import { ApiError, type ErrorCode, errorStatus } from "../../protocol/errors.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { CreateSession } from "../../protocol/resources.ts";
import type { OwnerHost, StoredPrompt } from "../log/contract.ts";
import type { CommandOutcome, CommandTable } from "../log/hosts-contract.ts";
import type { Answers, Commands } from "./commands.ts";
import type { PromptReceipt, PromptRequest } from "./contract.ts";
import { createSession } from "./create.ts";
import type { OpenSessions } from "./open-session.ts";
import { OwnedElsewhere, placeOf } from "./owner.ts";
import { type AskHost, acceptMove, createPlaced, moveSession } from "./placement.ts";
import { dropWaiting, promptWaiting } from "./waiting.ts";
import type { Worktrees } from "./worktrees.ts";

type Door = Commands & Answers & Worktrees;

/** How often a command follows a session that goes from host to host meanwhile. */
const MOVES = 5;

/** As it is stored: what came back, what was refused, or that the session has gone to another host in between. */
type Answer =
  | { readonly result?: unknown }
  | { readonly refused: { readonly code: string; readonly message: string } }
  | { readonly elsewhere: true };

interface Command<Args extends readonly unknown[], T> {
  readonly name: string;
  readonly local: (id: SessionId, ...args: Args) => Promise<T>;
  /** What is sent in place of these arguments; throws for what cannot be. */
  readonly prepare?: (args: Args, host: OwnerHost) => { readonly args: Args; readonly idempotencyKey: string };
  /** What is done where no living host may run the session; null where one may by now. */
  readonly unserved?: (id: SessionId, ...args: Args) => Promise<{ readonly result: T } | null>;
  /** What became of it, where its host ended in between and it was stored by then. */
  readonly stored?: (prompt: StoredPrompt) => T;
}

type Local = (id: SessionId, body: string) => Promise<unknown>;

/** Keys are not among them: a secret is stored in no table. */
export function anyHost(table: OpenSessions, local: Door): Door {
  const { cluster } = table.runtime.log;
  if (cluster === null) return local;
  const { commands } = cluster;
  const served = new Map<string, Local>();
  const through = <Args extends readonly unknown[], T>(command: Command<Args, T>) => {
    served.set(command.name, (id, body) => {
      const args: Args = JSON.parse(body);
      return command.local(id, ...args);
    });
    return (id: SessionId, ...args: Args): Promise<T> => anywhere(table, { ...command, commands }, { id, args });
  };
  const named = <Args extends readonly unknown[], T>(name: string, work: Command<Args, T>["local"]) =>
    through({ name, local: work });
  served.set("create", (id, body) => {
    const [asked]: [CreateSession] = JSON.parse(body);
    return createSession(table, id, asked);
  });
  served.set("accept", (id, body) => {
    const [asked]: [CreateSession] = JSON.parse(body);
    return acceptMove(table, { id, asked });
  });
  const ask = askHost(commands);
  const door: Door = {
    ...local,
    create: (id, asked) => createPlaced(table, { id, asked }, ask),
    move: named("move", (id, to: string) => moveSession(table, { id, to }, ask)),
    prompt: through({
      ...{ name: "prompt", local: local.prompt, prepare: preparePrompt(table), stored: receiptOf },
      unserved: promptWaiting(table),
    }),
    update: named("update", local.update),
    changeAgent: named("changeAgent", local.changeAgent),
    missingKeys: named("missingKeys", local.missingKeys),
    abort: named("abort", local.abort),
    dropQueued: through({ name: "dropQueued", local: local.dropQueued, unserved: dropWaiting(table) }),
    compact: named("compact", local.compact),
    shell: named("shell", local.shell),
    fork: named("fork", local.fork),
    sideRequest: named("sideRequest", local.sideRequest),
    revert: named("revert", local.revert),
    stopContinuing: named("stopContinuing", local.stopContinuing),
    notice: named("notice", local.notice),
    terminate: named("terminate", local.terminate),
    delete: named("delete", local.delete),
    diff: named("diff", local.diff),
    removeWorktree: named("removeWorktree", local.removeWorktree),
    replyPermission: named("replyPermission", local.replyPermission),
    replyQuestion: named("replyQuestion", local.replyQuestion),
    rejectQuestion: named("rejectQuestion", local.rejectQuestion),
  };
  commands.serve(async ({ session, name, body }) => JSON.stringify(await execute(served.get(name), session, body)));
  return door;
}

const askHost =
  (commands: CommandTable): AskHost =>
  async <T>(target: string, { name, id, args }: { name: string; id: SessionId; args: readonly unknown[] }) => {
    const body = JSON.stringify(args);
    const outcome = await commands.send({ id: randomUUID(), session: id, target, name, body, idempotencyKey: null });
    const host = { id: target, url: "", alive: true };
    const answer = answerOf<T>(outcome, { id, host });
    if (answer.type === "result") return answer.result;
    throw new ApiError(
      "host_unavailable",
      `${placeOf(host)} does not answer: nothing was done. Try again in a moment.`,
    );
  };

async function execute(local: Local | undefined, id: SessionId, body: string): Promise<Answer> {
  try {
    if (local === undefined) throw new ApiError("not_supported", "This host runs an older Franca: update it.");
    return { result: await local(id, body) };
  } catch (error) {
    if (error instanceof OwnedElsewhere) return { elsewhere: true };
    const code = error instanceof ApiError ? error.code : "internal";
    return { refused: { code, message: error instanceof Error ? error.message : String(error) } };
  }
}

interface Call<Args> {
  readonly id: SessionId;
  readonly args: Args;
}

interface Sending<Args extends readonly unknown[], T> extends Command<Args, T> {
  readonly commands: CommandTable;
}

/** Here first: only a session that belongs to another host is that host's business. */
async function anywhere<Args extends readonly unknown[], T>(
  table: OpenSessions,
  command: Sending<Args, T>,
  { id, args }: Call<Args>,
): Promise<T> {
  for (let moves = 0; ; moves += 1) {
    try {
      return await command.local(id, ...args);
    } catch (error) {
      if (!(error instanceof OwnedElsewhere) || moves > MOVES) throw error;
      const done = await unserved(table, command, { id, args });
      if (done === "refused") throw error;
      if (done === "served by now") continue;
      if (done !== "served") return done.result;
      const answer = await send(command, { id, args, host: error.host });
      if (answer.type === "result") return answer.result;
      // The session may be gone, or nobody's any more.
      if (answer.type !== "withdrawn") continue;
      return afterAll(table, command, { id, args });
    }
  }
}

type Unserved<T> = "served" | "served by now" | "refused" | { readonly result: T };

async function unserved<Args extends readonly unknown[], T>(
  { runtime }: OpenSessions,
  command: Command<Args, T>,
  { id, args }: Call<Args>,
): Promise<Unserved<T>> {
  if ((await runtime.log.cluster?.isServed(id)) === true) return "served";
  if (command.unserved === undefined) return "refused";
  return (await command.unserved(id, ...args)) ?? "served by now";
}

/** Nobody has claimed it: the session's host may have died meanwhile. */
async function afterAll<Args extends readonly unknown[], T>(
  table: OpenSessions,
  command: Command<Args, T>,
  { id, args }: Call<Args>,
): Promise<T> {
  try {
    return await command.local(id, ...args);
  } catch (error) {
    if (!(error instanceof OwnedElsewhere)) throw error;
    const done = await unserved(table, command, { id, args });
    return typeof done === "string" ? unanswered(id)(error) : done.result;
  }
}

/** Nothing was done, and it still belongs to a host that does not answer. */
const unanswered =
  (id: SessionId) =>
  (error: unknown): never => {
    if (!(error instanceof OwnedElsewhere)) throw error;
    const why = `Session ${id} belongs to ${placeOf(error.host)}, which does not answer`;
    throw new ApiError("host_unavailable", `${why}: nothing was done. Try again in a moment.`);
  };

type Answered<T> = { readonly type: "result"; readonly result: T } | { readonly type: "elsewhere" | "withdrawn" };

async function send<Args extends readonly unknown[], T>(
  command: Sending<Args, T>,
  { id, args, host }: Call<Args> & { readonly host: OwnerHost },
): Promise<Answered<T>> {
  const { name, commands, prepare, stored } = command;
  const prepared = prepare?.(args, host) ?? { args, idempotencyKey: null };
  const outcome = await commands.send({
    id: randomUUID(),
    session: id,
    target: null,
    name,
    body: JSON.stringify(given(prepared.args)),
    idempotencyKey: prepared.idempotencyKey,
  });
  if (outcome.type === "interrupted" && outcome.prompt !== null && stored !== undefined) {
    return { type: "result", result: stored(outcome.prompt) };
  }
  return answerOf<T>(outcome, { id, host });
}

/** Without the last ones that were not given: in JSON they would be null. */
function given(args: readonly unknown[]): readonly unknown[] {
  const last = args.findLastIndex((arg) => arg !== undefined);
  return args.slice(0, last + 1);
}

function answerOf<T>(outcome: CommandOutcome, { id, host }: { id: SessionId; host: OwnerHost }): Answered<T> {
  switch (outcome.type) {
    case "answered": {
      const answer: { readonly result: T } & { refused?: { code: string; message: string }; elsewhere?: true } =
        JSON.parse(outcome.answer);
      if (answer.elsewhere === true) return { type: "elsewhere" };
      if (answer.refused === undefined) return { type: "result", result: answer.result };
      throw new ApiError(codeOf(answer.refused.code), answer.refused.message);
    }
    case "withdrawn":
      return { type: "withdrawn" };
    case "late":
      throw new ApiError("timeout", `${placeOf(host)} still works on this command for session ${id}.`);
    case "interrupted": {
      const why = `Host ${outcome.host} ended while it ran this command for session ${id}`;
      const next = "It is not run again: look at the session before you send it once more.";
      throw new ApiError("command_interrupted", `${why}. ${next}`);
    }
  }
}

const codeOf = (code: string): ErrorCode => {
  const known: readonly string[] = Object.keys(errorStatus);
  const isCode = (given: string): given is ErrorCode => known.includes(given);
  return isCode(code) ? code : "internal";
};

/** With a key in any case: so it is known whether it was stored, and it is stored once. */
const preparePrompt =
  ({ runtime }: OpenSessions) =>
  ([request]: readonly [PromptRequest], host: OwnerHost) => {
    const { store } = runtime.options;
    const own = store.kind === "memory" ? null : `${store.folder}/`;
    if (request.attachments?.some(({ path }) => own !== null && path.startsWith(own))) {
      const where = `the session's disk: send this prompt to ${placeOf(host)}`;
      throw new ApiError("host_unavailable", `Files that come with a prompt are stored on ${where}.`);
    }
    const idempotencyKey = request.idempotencyKey ?? randomUUID();
    const args: [PromptRequest] = [{ ...request, idempotencyKey }];
    return { args, idempotencyKey };
  };

const receiptOf = ({ prompt, sequence }: StoredPrompt): PromptReceipt => ({
  promptId: prompt.prompt_id,
  fresh: true,
  sequence,
});

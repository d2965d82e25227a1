/** The one door: commands enter here, events leave here. Everything a caller can mend is refused with a clear error. */
import type { Snapshot } from "../../core/snapshot.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { PermissionId, QuestionId, type SessionId } from "../../protocol/ids.ts";
import { isDead } from "../agent/process-table.ts";
import type { SessionRecord, SessionSettings } from "../log/contract.ts";
import { readEvents, readItems } from "../log/pages.ts";
import { isSame } from "../log/sqlite-records.ts";
import type { RuntimeOptions } from "../options.ts";
import { openRuntimeParts, type Runtime } from "../runtime.ts";
import { ask } from "./ask.ts";
import { abort, answer, ownTurn, prompt, terminate, update } from "./change.ts";
import { changeAgent } from "./change-agent.ts";
import { loadSnapshot } from "./checkpoint.ts";
import type { Sessions } from "./contract.ts";
import { adapterOf, createSession, forkSession } from "./create.ts";
import { type Live, refuseEnded } from "./live.ts";
import { recover } from "./recovery.ts";
import { detail, latestItems, summarise } from "./summary.ts";
import { closeAll, discard, withLive } from "./table.ts";

/** How often a daemon looks whether an owner beside it has died. */
const SWEEP_MS = 10_000;
/** How many items a session is shown with. */
const ITEMS = 200;

export async function openSessions(options: RuntimeOptions): Promise<Sessions> {
  const runtime = openRuntimeParts(options);
  try {
    await recover(runtime);
  } catch (error) {
    await runtime.log.close();
    throw error;
  }
  const sweep = options.role === "daemon" && runtime.log.shared ? sweepRegularly(runtime) : null;
  let closing: Promise<void> | null = null;
  return {
    ...commands(runtime),
    ...answers(runtime),
    ...readers(runtime),
    ...agents(runtime),
    close() {
      closing ??= close(runtime, sweep);
      return closing;
    },
  };
}

function sweepRegularly(runtime: Runtime): NodeJS.Timeout {
  let sweeping = false;
  const sweep = async (): Promise<void> => {
    if (sweeping || runtime.closed) return;
    sweeping = true;
    await recover(runtime).catch((error: unknown) => runtime.logger.warn("recovery.failed", { error }));
    sweeping = false;
  };
  return setInterval(() => void sweep(), SWEEP_MS).unref();
}

async function close(runtime: Runtime, sweep: NodeJS.Timeout | null): Promise<void> {
  runtime.closed = true;
  if (sweep !== null) clearInterval(sweep);
  runtime.models.close();
  await closeAll(runtime);
  runtime.tail.close();
  await runtime.log.close();
}

type Commands = Pick<
  Sessions,
  | "create"
  | "update"
  | "changeAgent"
  | "prompt"
  | "abort"
  | "compact"
  | "shell"
  | "fork"
  | "ask"
  | "stopContinuing"
  | "notice"
  | "terminate"
  | "delete"
  | "prune"
>;

function commands(runtime: Runtime): Commands {
  const on = <T>(id: SessionId, work: (live: Live) => Promise<T>): Promise<T> => withLive(runtime, id, work);
  return {
    create: (id, options) => createSession(runtime, id, options),
    update: (id, asked, { standIn = false } = {}) => on(id, (live) => update(runtime, live, { asked, standIn })),
    changeAgent: (id, choice) => on(id, (live) => changeAgent(runtime, live, choice)),
    prompt: (id, request) => on(id, (live) => prompt(runtime, live, request)),
    abort: (id, options) => on(id, (live) => abort(live, options)),
    compact: (id) => on(id, async (live) => ownTurn(live, { type: "compact" })),
    shell: (id, command) => on(id, async (live) => ownTurn(live, { type: "shell", command })),
    fork: (id, into, { at } = {}) => on(id, (live) => forkSession(runtime, live, { into, at })),
    ask: (id, request) => on(id, (live) => ask(runtime, live, request)),
    stopContinuing: (id) =>
      on(id, async (live) => {
        refuseEnded(live);
        await live.drive.ask({ type: "stop_continuing" });
      }),
    notice: (id, notice) => on(id, async (live) => live.drive.feed({ type: "notice", ...notice, at: Date.now() })),
    terminate: (id) => on(id, terminate),
    delete: (id) => deleteSession(runtime, id),
    prune: (options) => prune(runtime, options),
  };
}

async function deleteSession(runtime: Runtime, id: SessionId): Promise<void> {
  try {
    await withLive(runtime, id, terminate);
  } catch (error) {
    // A session of an agent that is not there any more has nothing to end. And where there is no room to say that it
    // ends, it goes without a word: deleting is how room is made.
    if (!hasCode(error, "unsupported_agent", "storage_error")) throw error;
  }
  await discard(runtime, { id });
}

/** Sessions at rest that nobody has touched for that long. */
async function prune(runtime: Runtime, { olderThanMs }: { olderThanMs: number }): Promise<readonly SessionId[]> {
  const before = Date.now() - olderThanMs;
  const pruned: SessionId[] = [];
  for (const { id, summary, owner } of await runtime.log.list()) {
    const isElsewhere = owner !== null && !isSame(owner, runtime.owner) && !isDead(owner);
    if (isElsewhere || summary.status !== "idle" || Date.parse(summary.updatedAt) >= before) continue;
    await deleteSession(runtime, id);
    pruned.push(id);
  }
  return pruned;
}

function answers(runtime: Runtime): Pick<Sessions, "replyPermission" | "replyQuestion" | "rejectQuestion"> {
  return {
    replyPermission: (id, permission, reply) =>
      withLive(runtime, id, (live) => {
        const permission_id = PermissionId.parse(permission);
        const command = { type: "permission.reply" as const, permission_id, ...reply };
        return answer(live, { id: permission, kind: "permission", command });
      }),
    replyQuestion: (id, question, given) =>
      withLive(runtime, id, (live) => {
        const question_id = QuestionId.parse(question);
        const command = { type: "question.reply" as const, question_id, answers: given };
        return answer(live, { id: question, kind: "question", command });
      }),
    rejectQuestion: (id, question, { message }) =>
      withLive(runtime, id, (live) => {
        const question_id = QuestionId.parse(question);
        const why = message === undefined ? {} : { message };
        const command = { type: "question.reject" as const, question_id, ...why };
        return answer(live, { id: question, kind: "question", command });
      }),
  };
}

type Readers = Pick<
  Sessions,
  "list" | "get" | "events" | "native" | "follow" | "followAll" | "position" | "recovered" | "projections"
>;

/** Reading needs no ownership: a session that another process drives can be read here. */
function readers(runtime: Runtime): Readers {
  const { log, tail } = runtime;
  return {
    async list() {
      const live = await driven(runtime);
      return (await log.list()).map(({ id, settings, summary }) => {
        const own = live.get(id);
        return own === undefined ? summary : summarise({ id, settings, snapshot: own.session.snapshot() });
      });
    },
    async get(id, { itemsBefore, limit = ITEMS } = {}) {
      const { settings, snapshot } = await look(runtime, id);
      const described = { id, settings, snapshot };
      if (itemsBefore === undefined) return detail(described, latestItems(snapshot, limit));
      const query = { before: itemsBefore, limit };
      return detail(described, await readItems(log, { id, snapshot, query }));
    },
    events: (id, query) => readEvents(log, id, query),
    native: (id, { offset, limit }) => log.readNative(id, { after: offset, limit }),
    follow: tail.follow,
    followAll: tail.followAll,
    position: log.position,
    recovered: runtime.recovered,
    projections: log.projections,
  };
}

/** Those that are driven here and ready. */
async function driven(runtime: Runtime): Promise<Map<SessionId, Live>> {
  const all = await Promise.allSettled(runtime.live.values());
  const ready = all.flatMap((one) => (one.status === "fulfilled" && isTold(one.value) ? [one.value] : []));
  return new Map(ready.map((live) => [live.id, live]));
}

/** While the log cannot be written, the fold is ahead of what may be told. */
const isTold = ({ drive }: Live): boolean => drive.stuck() === null;

async function look(runtime: Runtime, id: SessionId): Promise<{ settings: SessionSettings; snapshot: Snapshot }> {
  const own = await runtime.live.get(id)?.catch(() => undefined);
  if (own !== undefined && isTold(own)) return { settings: own.settings, snapshot: own.session.snapshot() };
  const record: SessionRecord | null = await runtime.log.find(id);
  if (record === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
  return { settings: record.settings, snapshot: await loadSnapshot(runtime.log, id) };
}

function agents(runtime: Runtime): Pick<Sessions, "agents" | "models" | "modes" | "install"> {
  const { adapters, binaries, models, options } = runtime;
  return {
    agents: () => Promise.all([...adapters.values()].map((adapter) => binaries.describe(adapter))),
    async models(agent) {
      const adapter = adapterOf(runtime, agent);
      if (adapter.models !== null) return { models: await models.of(adapter, adapter.models) };
      return (await options.models?.(agent)) ?? { models: [] };
    },
    modes: async (agent) => adapterOf(runtime, agent).modes,
    install: async (agent, asked) => binaries.install(adapterOf(runtime, agent), asked),
  };
}

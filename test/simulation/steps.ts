/** Carries out the steps of a plan: what clients ask, again where the daemon died, and what goes wrong. */
import { tmpdir } from "node:os";
import { ApiError } from "../../src/protocol/errors.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import type { Connected } from "./clients.ts";
import type { Outcome } from "./observer.ts";
import type { Step } from "./plan.ts";
import type { Simulation } from "./simulation.ts";

const AGAIN_MS = 40;

/** Creates the sessions of the plan; one whose creation got no answer is created again. */
export async function createAll(simulation: Simulation): Promise<void> {
  for (const [index, id] of simulation.ids.entries()) {
    const planned = simulation.plan.sessions[index];
    if (planned === undefined) continue;
    const { finishTodos, unattended } = planned;
    const create = { agent: "mock", directory: tmpdir(), finishTodos, unattended: { policy: unattended } };
    await insist(simulation, (sessions) => sessions.create(id, create), ["session_already_exists"]);
    // Only now is there something to follow.
    const { connected } = simulation;
    for (const client of simulation.clients) {
      if (client.seen.session === id && connected !== null) client.connect(connected);
    }
  }
}

export function carryOut(simulation: Simulation): void {
  let at = 0;
  for (const [index, step] of simulation.plan.steps.entries()) {
    at += step.after;
    simulation.world.later(at, () => void carryOutStep(simulation, step, index));
  }
}

async function carryOutStep(simulation: Simulation, step: Step, index: number): Promise<void> {
  const { ids, disk, world, observer } = simulation;
  const id = ids["session" in step ? step.session : 0];
  if (id === undefined) return;
  switch (step.type) {
    case "prompt":
      return sendPrompt(simulation, { step, id, text: `p${index} ${step.play}` });
    case "answer":
      return answer(simulation, { step, id });
    case "abort":
    case "drop":
    case "terminate":
      return cancel(simulation, { step, id });
    case "look": {
      const looked = await call(simulation, (sessions) => sessions.get(id));
      if (looked.type === "done") observer.looks.push({ session: id, detail: looked.value });
      return;
    }
    case "title": {
      const title = `Title ${index}`;
      const set = await call(simulation, (sessions) => sessions.update(id, { title }));
      if (set.type === "done") observer.titles.push({ session: id, title });
      return;
    }
    case "compact":
      await call(simulation, (sessions) => sessions.compact(id));
      return;
    case "disk":
      disk.setFailing(step.share);
      world.later(step.fullMs, () => disk.setFailing(0));
      return;
    case "clock":
      return world.setClock(step.offsetMs);
    case "sleep":
      return world.sleep(step);
    default:
      return disturb(simulation, { step, id });
  }
}

type Disturbance = Extract<Step, { type: "crash" | "restart" | "agent-dies" | "cut" }>;

function disturb(simulation: Simulation, { step, id }: { step: Disturbance; id: SessionId }): void {
  const { connected, clients, agents } = simulation;
  switch (step.type) {
    case "crash":
      simulation.downMs = step.downMs;
      return connected?.life.dieBefore(step.effects);
    case "restart":
      if (connected !== null) void restart(simulation, connected);
      return;
    case "agent-dies":
      return agents.get(id)?.kill();
    case "cut": {
      const client = clients.find(({ seen }) => seen.session === id);
      if (connected !== null) client?.cut(connected, step.back);
    }
  }
}

async function restart(simulation: Simulation, { life, sessions }: Connected): Promise<void> {
  simulation.connected = null;
  await sessions.close();
  if (!life.isAlive()) return;
  simulation.downMs = 0;
  life.die();
}

interface Prompting {
  readonly step: Extract<Step, { type: "prompt" }>;
  readonly id: SessionId;
  readonly text: string;
}

/** A full disk, or a daemon that is stopping: the client comes again. */
const isTransient = (code: string): boolean => code === "storage_error" || code === "internal";

async function sendPrompt(simulation: Simulation, { step, id, text }: Prompting): Promise<void> {
  const { observer, world } = simulation;
  const { delivery } = step;
  const sent = observer.sent({ session: id, text, delivery });
  const send = async (): Promise<void> => {
    for (;;) {
      const key = step.key ? { idempotencyKey: text } : {};
      const outcome = await call(simulation, (sessions) => sessions.prompt(id, { text, delivery, ...key }));
      if (outcome.type === "done") return void sent.receipts.push(outcome.value);
      // On a full disk the refusal itself may not be stored.
      if (outcome.type === "lost" || outcome.code === "storage_error") sent.lost = true;
      const isFinal = outcome.type === "refused" && !isTransient(outcome.code);
      if (isFinal && !sent.cancelled) observer.surprises.push(`${text}: ${outcome.code}`);
      if (isFinal || !step.key) return;
      await world.pause(AGAIN_MS);
    }
  };
  // Only a key makes it safe to send a prompt more than once.
  const copies = step.key ? step.copies : 0;
  await Promise.all(
    Array.from({ length: copies + 1 }, async (_, copy) => {
      if (copy > 0) await world.pause(world.random.integer(copy * 200));
      await send();
    }),
  );
}

interface Answering {
  readonly step: Extract<Step, { type: "answer" }>;
  readonly id: SessionId;
}

/** Answers a request that a client sees open, perhaps twice. */
async function answer(simulation: Simulation, { step, id }: Answering): Promise<void> {
  const { clients, observer } = simulation;
  const seen = clients.find((client) => client.seen.session === id)?.seen;
  const [request, kind] = [...(seen?.requests ?? [])][0] ?? [];
  if (request === undefined) return;
  const { yes } = step;
  const reply = (sessions: Sessions): Promise<void> => {
    if (kind === "permission") return sessions.replyPermission(id, request, { reply: yes ? "once" : "reject" });
    return yes ? sessions.replyQuestion(id, request, [["This"]]) : sessions.rejectQuestion(id, request, {});
  };
  await Promise.all(
    Array.from({ length: step.copies + 1 }, async () => {
      const outcome = await call(simulation, reply);
      if (outcome.type === "done") observer.answered.push({ session: id, request, yes });
    }),
  );
}

interface Cancelling {
  readonly step: Extract<Step, { type: "abort" | "drop" | "terminate" }>;
  readonly id: SessionId;
}

async function cancel(simulation: Simulation, { step, id }: Cancelling): Promise<void> {
  const { observer, clients } = simulation;
  if (step.type === "abort" && !step.clearQueue) {
    await call(simulation, (sessions) => sessions.abort(id, { clearQueue: false }));
    return;
  }
  const cancelling = observer.cancelling(id);
  const seen = clients.find((client) => client.seen.session === id)?.seen;
  const last = seen?.queue.at(-1);
  await call(simulation, async (sessions): Promise<void> => {
    if (step.type === "terminate") return sessions.terminate(id);
    if (step.type === "abort") return sessions.abort(id, { clearQueue: true });
    if (last !== undefined) return sessions.dropQueued(id, last);
  });
  // A session that has ended takes no prompts any more.
  if (step.type !== "terminate") cancelling.done();
}

/** One call to the daemon, as soon as it can be reached. */
async function call<Value>(
  simulation: Simulation,
  work: (sessions: Sessions) => Promise<Value>,
): Promise<Outcome<Value>> {
  const { observer } = simulation;
  observer.pending += 1;
  const { life, sessions } = await reached(simulation);
  const outcome = await Promise.race([settled(work(sessions)), life.died]);
  observer.pending -= 1;
  // The answer is an effect too: the daemon may die before it.
  return outcome.type !== "lost" && life.act() ? outcome : { type: "lost" };
}

async function insist(
  simulation: Simulation,
  work: (sessions: Sessions) => Promise<unknown>,
  fine: readonly string[],
): Promise<void> {
  for (;;) {
    const outcome = await call(simulation, work);
    if (outcome.type === "done" || (outcome.type === "refused" && fine.includes(outcome.code))) return;
    await simulation.world.pause(AGAIN_MS);
  }
}

function reached({ connected, waiters }: Simulation): Promise<Connected> {
  return connected !== null ? Promise.resolve(connected) : new Promise((resolve) => waiters.push(resolve));
}

const settled = <Value>(work: Promise<Value>): Promise<Outcome<Value>> =>
  work.then(
    (value) => ({ type: "done", value }),
    (error: unknown) => ({ type: "refused", code: error instanceof ApiError ? error.code : `a bug: ${error}` }),
  );

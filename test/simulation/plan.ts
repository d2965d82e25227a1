/**
 * What happens in one simulated life of a daemon: what clients ask, how the agent plays, what goes wrong. Drawn from a
 * seed, so that it can be drawn again, and made smaller when it breaks a promise.
 */
import { type Random, randomFrom } from "../faults/random.ts";

/** How the simulated agent answers a prompt; agent.ts plays them. */
export const plays = [
  "say",
  "tools",
  "ask",
  "question",
  "todos",
  "early-end",
  "two-ends",
  "late",
  "background",
  "garbage",
  "error",
  "exit",
  "silent",
  "hang",
] as const;
export type Play = (typeof plays)[number];

interface Timed {
  /** Milliseconds after the step before. */
  readonly after: number;
}

export type Step = Timed &
  (
    | {
        readonly type: "prompt";
        readonly session: number;
        readonly play: Play;
        readonly delivery: "queue" | "steer";
        /** With an idempotency key the client repeats it until it is acknowledged, and this many times more. */
        readonly key: boolean;
        readonly copies: number;
      }
    | { readonly type: "abort"; readonly session: number; readonly clearQueue: boolean }
    | { readonly type: "answer"; readonly session: number; readonly yes: boolean; readonly copies: number }
    /** Takes the last prompt out of the queue, if it waits. */
    | { readonly type: "drop"; readonly session: number }
    | { readonly type: "look"; readonly session: number }
    | { readonly type: "title"; readonly session: number }
    | { readonly type: "compact"; readonly session: number }
    | { readonly type: "terminate"; readonly session: number }
    /** The connection of a client is cut, and made again `back` events before what it saw last. */
    | { readonly type: "cut"; readonly session: number; readonly back: number }
    /** The daemon dies before so many effects more, and is started again. */
    | { readonly type: "crash"; readonly effects: number; readonly downMs: number }
    | { readonly type: "restart" }
    | { readonly type: "agent-dies"; readonly session: number }
    /** So many of the writes fail. */
    | { readonly type: "disk"; readonly fullMs: number; readonly share: number }
    | { readonly type: "clock"; readonly offsetMs: number }
    /** The machine sleeps. On macOS timers count that time, on Linux only the wall clock does. */
    | { readonly type: "sleep"; readonly ms: number; readonly counted: boolean }
  );

export interface SessionPlan {
  /** Whether the agent is asked to finish its todos. */
  readonly finishTodos: boolean;
  /** What happens to requests that nobody answers. */
  readonly unattended: "park" | "deny" | "allow";
  /** An agent that does not obey an abort. */
  readonly stubborn: boolean;
}

export interface Plan {
  readonly seed: number;
  /** Plugins are asked at each settlement. */
  readonly plugins: boolean;
  readonly sessions: readonly SessionPlan[];
  readonly steps: readonly Step[];
}

const HOUR_MS = 3_600_000;

export function drawPlan(seed: number): Plan {
  const random = randomFrom(seed);
  const sessions = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => ({
    finishTodos: random.chance(0.4),
    unattended: random.pick(["park", "park", "deny", "allow"] as const),
    stubborn: random.chance(0.2),
  }));
  const count = random.between(4, 14);
  const steps = Array.from({ length: count }, () => drawStep(random, sessions.length));
  // A plan in which nobody speaks shows nothing.
  return { seed, plugins: random.chance(0.2), sessions, steps: [drawPrompt(random, 0), ...steps] };
}

function drawStep(random: Random, sessions: number): Step {
  const session = random.integer(sessions);
  const after = drawPause(random);
  const kind = random.integer(100);
  if (kind < 36) return drawPrompt(random, session);
  if (kind < 50) return { after, type: "crash", effects: random.between(1, 40), downMs: random.integer(50) };
  if (kind < 54) return { after, type: "restart" };
  if (kind < 64) {
    return { after, type: "answer", session, yes: random.chance(0.7), copies: random.chance(0.3) ? 1 : 0 };
  }
  if (kind < 71) return { after, type: "abort", session, clearQueue: random.chance(0.3) };
  if (kind < 74) return { after, type: "drop", session };
  if (kind < 82) return { after, type: "look", session };
  if (kind < 87) return { after, type: "cut", session, back: random.integer(6) };
  if (kind < 91) return { after, type: "agent-dies", session };
  if (kind < 94) {
    return { after, type: "disk", fullMs: random.between(1, 4_000), share: random.pick([1, 0.5]) };
  }
  if (kind < 96) return { after, type: "clock", offsetMs: random.between(-48, 48) * HOUR_MS };
  if (kind < 97) return { after, type: "title", session };
  if (kind < 99) return { after, type: "compact", session };
  return { after, type: "terminate", session };
}

/** A plan with the clock set, or the machine asleep, right after each of its steps: an agent may be in mid-sentence. */
export function withJumps(plan: Plan): Plan {
  const random = randomFrom(plan.seed * 11 + 5);
  const jump = (): Step => {
    const after = random.integer(20);
    if (random.chance(0.5)) return { after, type: "clock", offsetMs: random.between(-48, 48) * HOUR_MS };
    return { after, type: "sleep", ms: random.between(1, 12) * HOUR_MS, counted: random.chance(0.5) };
  };
  return { ...plan, steps: plan.steps.flatMap((step) => [step, jump()]) };
}

const drawPrompt = (random: Random, session: number): Step => ({
  after: drawPause(random),
  type: "prompt",
  session,
  play: random.chance(0.3) ? "say" : random.pick(plays),
  delivery: random.chance(0.15) ? "steer" : "queue",
  key: random.chance(0.7),
  copies: random.chance(0.3) ? random.between(1, 2) : 0,
});

/** Mostly close together: it is what happens at once that goes wrong. */
function drawPause(random: Random): number {
  const kind = random.integer(100);
  if (kind < 60) return random.integer(12);
  if (kind < 90) return random.integer(300);
  return random.integer(60_000);
}

/** Smaller plans, the boldest first: without half of the steps, then fewer; then plainer steps; then one session. */
export function* smaller(plan: Plan): Generator<Plan> {
  const { steps } = plan;
  for (let size = Math.floor(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at + size <= steps.length; at += size) {
      yield { ...plan, steps: [...steps.slice(0, at), ...steps.slice(at + size)] };
    }
  }
  for (const [at, step] of steps.entries()) {
    if (step.type !== "prompt") continue;
    if (step.copies > 0) yield { ...plan, steps: steps.with(at, { ...step, copies: 0 }) };
    if (step.play !== "say") yield { ...plan, steps: steps.with(at, { ...step, play: "say" }) };
  }
  if (plan.sessions.length > 1) {
    const kept = plan.sessions.slice(0, -1);
    yield {
      ...plan,
      sessions: kept,
      steps: steps.filter((step) => !("session" in step) || step.session < kept.length),
    };
  }
}

/** The smallest plan that `isBroken` still holds of, within a number of tries. */
export async function shrink(failed: Plan, isBroken: (plan: Plan) => Promise<boolean>, tries = 400): Promise<Plan> {
  let plan = failed;
  let left = tries;
  for (let progress = true; progress; ) {
    progress = false;
    for (const candidate of smaller(plan)) {
      if (left === 0) return plan;
      left -= 1;
      if (!(await isBroken(candidate))) continue;
      plan = candidate;
      progress = true;
      break;
    }
  }
  return plan;
}

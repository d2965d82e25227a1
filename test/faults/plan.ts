/**
 * What goes wrong, in which order: a list of steps drawn from a seed. Pure: the same seed gives the same plan, and a
 * plan that fails can be made smaller.
 */
import { type Random, randomFrom } from "./random.ts";

/** How a fake agent behaves in one turn; agents/plays.ts plays them. */
export const plays = [
  "say",
  "flood",
  "pauses",
  "garbage",
  "halves",
  "utf8",
  "deep",
  "long",
  "midline",
  "stubborn",
  "deaf",
  "twice",
  "endless",
  "family",
  "noise",
] as const;
export type Play = (typeof plays)[number];

export const agents = ["acp", "claude", "codex"] as const;
export type Agent = (typeof agents)[number];

export type Step =
  | { readonly type: "prompt"; readonly session: number; readonly play: Play; readonly size: number }
  | { readonly type: "abort"; readonly session: number }
  | { readonly type: "agent"; readonly session: number; readonly signal: "SIGKILL" | "SIGSTOP" }
  | { readonly type: "daemon"; readonly signal: "SIGKILL" | "SIGTERM" }
  | { readonly type: "cut"; readonly afterBytes: number }
  | { readonly type: "disk"; readonly state: "full" | "slow" | "well" }
  | { readonly type: "clock"; readonly offsetMs: number }
  /** One byte of a stored event is changed while the daemon is down. */
  | { readonly type: "damage"; readonly session: number }
  /** The end of the log's file is cut off while the daemon is down. */
  | { readonly type: "truncate"; readonly share: number }
  /** Waits until clients have seen more events, or for so long. */
  | { readonly type: "pass"; readonly events: number; readonly atMostMs: number };

export interface Plan {
  readonly seed: number;
  /** The agent of each session. */
  readonly sessions: readonly Agent[];
  /** Clients of each session that keep up; beside them one that never reads. */
  readonly clients: number;
  readonly steps: readonly Step[];
}

const HOUR_MS = 3_600_000;

export function drawPlan(seed: number): Plan {
  const random = randomFrom(seed);
  const sessions = Array.from({ length: random.between(1, 3) }, () => random.pick(agents));
  const steps: Step[] = [];
  const count = random.between(5, 11);
  for (let step = 0; step < count; step += 1) {
    steps.push(drawStep(random, sessions.length));
    if (random.chance(0.6)) steps.push({ type: "pass", events: random.between(1, 200), atMostMs: 150 });
  }
  // A plan in which nobody speaks shows nothing.
  if (!steps.some(({ type }) => type === "prompt")) steps.unshift(drawPrompt(random, sessions.length));
  if (random.chance(0.12)) steps.push({ type: "damage", session: random.integer(sessions.length) });
  else if (random.chance(0.06)) steps.push({ type: "truncate", share: random.between(10, 90) / 100 });
  return { seed, sessions, clients: random.between(1, 3), steps };
}

function drawStep(random: Random, sessions: number): Step {
  const session = random.integer(sessions);
  const kind = random.integer(100);
  if (kind < 52) return drawPrompt(random, sessions);
  if (kind < 60) return { type: "abort", session };
  if (kind < 67) return { type: "agent", session, signal: random.pick(["SIGKILL", "SIGKILL", "SIGSTOP"]) };
  if (kind < 77) return { type: "daemon", signal: random.pick(["SIGKILL", "SIGKILL", "SIGTERM"]) };
  if (kind < 88) return { type: "cut", afterBytes: random.integer(20_000) };
  if (kind < 95) return { type: "disk", state: random.pick(["full", "slow", "well"]) };
  return { type: "clock", offsetMs: random.between(-30 * 24, 30 * 24) * HOUR_MS };
}

function drawPrompt(random: Random, sessions: number): Step {
  return {
    type: "prompt",
    session: random.integer(sessions),
    play: random.chance(0.5) ? random.pick(["say", "flood", "pauses"]) : random.pick(plays),
    size: random.chance(0.1) ? random.between(2_000, 8_000) : random.between(1, 400),
  };
}

/** Smaller plans, the boldest first: without half of the steps, then without one, then with one session only. */
export function* smaller(plan: Plan): Generator<Plan> {
  const { steps } = plan;
  for (let size = Math.floor(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at + size <= steps.length; at += size) {
      yield { ...plan, steps: [...steps.slice(0, at), ...steps.slice(at + size)] };
    }
  }
  if (plan.clients > 1) yield { ...plan, clients: 1 };
  if (plan.sessions.length > 1) {
    const kept = plan.sessions.slice(0, -1);
    yield {
      ...plan,
      sessions: kept,
      steps: steps.filter((step) => !("session" in step) || step.session < kept.length),
    };
  }
}

/**
 * What goes wrong, in which order: a list of steps drawn from a seed. Pure: the same seed gives the same plan, and a
 * plan that fails can be made smaller.
 */
import { type ClockJumps, drawJumps } from "./clock-jumps.ts";
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
  /** A prompt for every session at once. */
  | { readonly type: "everybody"; readonly play: Play; readonly size: number }
  | { readonly type: "abort"; readonly session: number }
  | { readonly type: "agent"; readonly session: number; readonly signal: "SIGKILL" | "SIGSTOP" }
  /** Twice: a second signal while it stops. */
  | { readonly type: "daemon"; readonly signal: "SIGKILL" | "SIGTERM"; readonly twice: boolean }
  | { readonly type: "cut"; readonly afterBytes: number }
  | { readonly type: "disk"; readonly state: "full" | "read-only" | "slow" | "well" }
  | { readonly type: "clock"; readonly offsetMs: number }
  | ClockJumps
  /** Receivers of webhooks and telemetry accept requests and do not answer, or answer again. */
  | { readonly type: "receivers"; readonly state: "hang" | "well" }
  /** One byte of a stored event is changed while the daemon is down. */
  | { readonly type: "damage"; readonly session: number }
  /** The end of the log's file is cut off while the daemon is down. */
  | { readonly type: "truncate"; readonly share: number }
  /** Waits until clients have seen more events, or for so long. */
  | { readonly type: "pass"; readonly events: number; readonly atMostMs: number };

/** Many of something, beside the faults: clients that follow, sessions that talk at once, or sessions on the disk. */
export type Scale = "few" | "clients" | "talking" | "stored";

export interface Plan {
  readonly seed: number;
  readonly scale: Scale;
  /** The agent of each session. */
  readonly sessions: readonly Agent[];
  /** Clients of each session that keep up; beside them one that never reads. */
  readonly clients: number;
  readonly steps: readonly Step[];
}

const HOUR_MS = 3_600_000;
/** Of 20 seeds in a row, one is of each scale: they cost more than the others. */
const SEEDS = 20;
const scales: ReadonlyMap<number, Scale> = new Map([
  [6, "clients"],
  [12, "talking"],
  [18, "stored"],
]);
const CLIENTS = 500;
const TALKING = 200;
/** Of so many sessions that talk, one has a process of its own; the others share a Codex. */
const OWN_PROCESS = 20;

export function drawPlan(seed: number): Plan {
  const scale = scales.get(seed % SEEDS) ?? "few";
  const random = randomFrom(seed);
  const sessions = drawSessions(random, scale);
  const steps: Step[] = [];
  const count = random.between(5, 11);
  for (let step = 0; step < count; step += 1) {
    steps.push(drawStep(random, { sessions: sessions.length, scale }));
    if (random.chance(0.6)) steps.push({ type: "pass", events: random.between(1, 200), atMostMs: 150 });
  }
  // A plan in which nobody speaks shows nothing.
  if (!steps.some(({ type }) => type === "prompt"))
    steps.unshift(drawPrompt(random, { sessions: sessions.length, scale }));
  if (scale === "talking") {
    for (const at of [0, Math.floor(steps.length / 2)]) {
      steps.splice(at, 0, { type: "everybody", play: random.pick(["say", "pauses"]), size: random.between(5, 25) });
    }
  }
  if (random.chance(0.12)) steps.push({ type: "damage", session: random.integer(sessions.length) });
  else if (random.chance(0.06)) steps.push({ type: "truncate", share: random.between(10, 90) / 100 });
  addLater(steps, { seed, sessions: sessions.length });
  const clients = scale === "clients" ? Math.ceil(CLIENTS / sessions.length) : random.between(1, 3);
  return { seed, scale, sessions, clients: scale === "talking" ? 1 : clients, steps };
}

/** Faults that were added later are drawn by themselves: what a seed draws else stays as it is. */
function addLater(steps: Step[], { seed, sessions }: { readonly seed: number; readonly sessions: number }): void {
  const random = randomFrom(seed * 31 + 7);
  const place = (): number => random.integer(Math.max(1, steps.length - 1));
  if (random.chance(0.3)) steps.splice(place(), 0, drawJumps(random, sessions));
  if (random.chance(0.15)) {
    steps.splice(place(), 0, { type: "receivers", state: "well" });
    steps.splice(0, 0, { type: "receivers", state: "hang" });
  }
}

function drawSessions(random: Random, scale: Scale): Agent[] {
  if (scale !== "talking") return Array.from({ length: random.between(1, 3) }, () => random.pick(agents));
  return Array.from({ length: TALKING }, (_, index) => (index % OWN_PROCESS === 0 ? random.pick(agents) : "codex"));
}

interface Drawn {
  readonly sessions: number;
  readonly scale: Scale;
}

function drawStep(random: Random, drawn: Drawn): Step {
  const session = random.integer(drawn.sessions);
  const kind = random.integer(100);
  if (kind < 52) return drawPrompt(random, drawn);
  if (kind < 60) return { type: "abort", session };
  if (kind < 67) return { type: "agent", session, signal: random.pick(["SIGKILL", "SIGKILL", "SIGSTOP"]) };
  if (kind < 77) {
    const signal = random.pick(["SIGKILL", "SIGKILL", "SIGTERM"] as const);
    return { type: "daemon", signal, twice: signal === "SIGTERM" && random.chance(0.5) };
  }
  if (kind < 88) return { type: "cut", afterBytes: random.integer(20_000) };
  if (kind < 95) return { type: "disk", state: random.pick(["full", "read-only", "slow", "well"]) };
  return { type: "clock", offsetMs: random.between(-30 * 24, 30 * 24) * HOUR_MS };
}

function drawPrompt(random: Random, { sessions, scale }: Drawn): Step {
  const size = random.chance(0.1) ? random.between(2_000, 8_000) : random.between(1, 400);
  return {
    type: "prompt",
    session: random.integer(sessions),
    play: random.chance(0.5) ? random.pick(["say", "flood", "pauses"]) : random.pick(plays),
    // What 500 clients get is parsed by one process.
    size: scale === "clients" ? Math.min(size, 40) : size,
  };
}

/** Smaller plans, the boldest first: without half of the steps, then without one, then with few of everything. */
export function* smaller(plan: Plan): Generator<Plan> {
  const { steps } = plan;
  for (let size = Math.floor(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at + size <= steps.length; at += size) {
      yield { ...plan, steps: [...steps.slice(0, at), ...steps.slice(at + size)] };
    }
  }
  if (plan.scale !== "few") yield { ...plan, scale: "few", clients: Math.min(plan.clients, 3) };
  if (plan.clients > 1) yield { ...plan, clients: 1 };
  if (plan.sessions.length > 1) {
    const kept = plan.sessions.slice(0, Math.floor(plan.sessions.length / 2));
    yield {
      ...plan,
      sessions: kept,
      steps: steps.filter((step) => !("session" in step) || step.session < kept.length),
    };
  }
}

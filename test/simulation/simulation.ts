/** What one simulation holds: the plan, the machine, the disk, who looks on, and the daemon that lives now. */
import type { SessionId } from "../../src/protocol/ids.ts";
import type { RunningAgent } from "./agent.ts";
import type { Client, Connected } from "./clients.ts";
import type { Disk } from "./log.ts";
import type { Observer } from "./observer.ts";
import type { Plan } from "./plan.ts";
import type { World } from "./world.ts";

export interface Simulation {
  readonly plan: Plan;
  readonly world: World;
  readonly disk: Disk;
  readonly observer: Observer;
  readonly ids: readonly SessionId[];
  readonly clients: readonly Client[];
  readonly agents: Map<string, RunningAgent>;
  /** The daemon, while it can be reached. */
  connected: Connected | null;
  /** Who waits until it can be. */
  readonly waiters: ((to: Connected) => void)[];
  lives: number;
  /** How long it stays down after the next crash. */
  downMs: number;
}

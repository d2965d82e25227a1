/**
 * What other hosts write: a notification wakes us, and a regular look at the newest position finds what a cut
 * connection missed. Notifications carry nothing to rely on; readers always read from their own cursor.
 */
import { integer } from "../rows.ts";
import type { Client } from "./client.ts";
import type { Store } from "./store.ts";

export const CHANNEL = "franca";
/** How old the newest known position may be, while somebody asks. */
const LOOK_MS = 1_000;

export interface Elsewhere {
  readonly position: () => number;
  /** This host has committed groups up to a position. */
  readonly committed: (position: number, groups: number) => void;
  /** Hears every notification of another host. */
  readonly onWake: (subscriber: () => void) => void;
  /** Whether another host may have written since this was asked last. */
  readonly changed: () => boolean;
}

const POSITION = "SELECT position FROM franca.positions";

export async function openElsewhere(client: Client, { identity }: Pick<Store, "identity">): Promise<Elsewhere> {
  const [row = {}] = await client.read(POSITION);
  let position = integer(row, "position");
  let changed = false;
  const subscribers: (() => void)[] = [];
  let own = 0;
  const looked = { at: performance.now(), position, own: 0 };
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      const [newest = {}] = await client.read(POSITION);
      const found = integer(newest, "position");
      // More or less than our own groups: one that is counted late is found at the next look.
      if (found - looked.position !== own - looked.own) changed = true;
      Object.assign(looked, { at: performance.now(), position: found, own });
      position = Math.max(position, found);
    } catch {
      // A reader gets the error when it reads.
    } finally {
      looking = false;
    }
  };
  await client.listen(CHANNEL, (host) => {
    if (host === identity().host) return;
    changed = subscribers.length === 0;
    for (const subscriber of subscribers) subscriber();
    look().catch(() => {});
  });
  return {
    position: () => position,
    committed(newest, groups) {
      own += groups;
      position = Math.max(position, newest);
    },
    onWake: (subscriber) => subscribers.push(subscriber),
    changed() {
      if (performance.now() - looked.at > LOOK_MS) look().catch(() => {});
      const was = changed;
      changed = false;
      return was;
    },
  };
}

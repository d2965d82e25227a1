/**
 * A simulated log: the memory log is the disk, which survives the daemon. Each life of the daemon reaches it through a
 * log of its own, where answers take their time, the disk may be full, and a dead process changes nothing.
 */
import { ApiError } from "../../src/protocol/errors.ts";
import type { EventGroup, EventLog, Owner } from "../../src/runtime/log/contract.ts";
import { openMemoryLog } from "../../src/runtime/log/memory/open.ts";
import { type Life, never, type World } from "./world.ts";

const SLOWEST_MS = 6;

export interface Disk {
  readonly log: EventLog;
  /** The share of writes that fail. */
  readonly failing: () => number;
  readonly setFailing: (share: number) => void;
  /** Who hears of stored groups: the process that lives now. */
  subscriber: (groups: readonly EventGroup[]) => void;
  /** Which life owns a session. */
  readonly owners: Map<string, number>;
}

export function openDisk(): Disk {
  const log = openMemoryLog();
  let failing = 0;
  const disk: Disk = {
    log,
    failing: () => failing,
    setFailing(share) {
      failing = share;
    },
    subscriber: () => {},
    owners: new Map(),
  };
  log.onCommitted((groups) => disk.subscriber(groups));
  return disk;
}

export function openSimulatedLog({ disk, life, world }: { disk: Disk; life: Life; world: World }): EventLog {
  const { log: base, owners } = disk;
  const { random } = world;
  disk.subscriber = () => {};
  const hop = (): Promise<void> => world.pause(random.integer(SLOWEST_MS));

  /** The effect takes place now; the answer comes later, or never. */
  const slow =
    <Args extends unknown[], Out>(work: (...args: Args) => Promise<Out>) =>
    async (...args: Args): Promise<Out> => {
      if (!life.act()) return never();
      const answer = await settle(work(...args));
      await hop();
      if (!life.isAlive()) return never();
      if ("error" in answer) throw answer.error;
      return answer.value;
    };
  const written = <Args extends unknown[], Out>(work: (...args: Args) => Promise<Out>) =>
    slow(async (...args: Args): Promise<Out> => {
      if (random.chance(disk.failing())) throw new ApiError("storage_error", "The simulated disk is full.");
      return work(...args);
    });
  /** Owners of earlier lives are dead: they are shown as processes of a host that is gone. */
  const seen = (id: string, owner: Owner | null): Owner | null =>
    owner === null || owners.get(id) === life.number
      ? owner
      : { ...owner, host: { id: "before", url: "", alive: false } };

  const append = written(base.append);
  return {
    ...base,
    append: async (entry) => {
      // Appends of one tick are stored together, a little later.
      await hop();
      if (!life.isAlive()) return never();
      return append(entry);
    },
    create: written(async (record, owner) => {
      await base.create(record, owner);
      owners.set(record.id, life.number);
    }),
    find: slow(async (id) => {
      const record = await base.find(id);
      return record === null ? null : { ...record, owner: seen(id, record.owner) };
    }),
    claim: written(async (id, owner, isDead) => {
      const holder = await base.claim(id, owner, isDead);
      owners.set(id, life.number);
      return holder;
    }),
    owned: slow(async () => (await base.owned()).map(({ id, owner }) => ({ id, owner: seen(id, owner) ?? owner }))),
    list: slow(base.list),
    changeSettings: written(base.changeSettings),
    delete: written(base.delete),
    release: slow(base.release),
    read: slow(base.read),
    readAll: slow(base.readAll),
    readNative: slow(base.readNative),
    lastNativeLine: slow(base.lastNativeLine),
    itemsBefore: slow(base.itemsBefore),
    // A checkpoint of another version of the code is not there: then the whole session is read.
    checkpoint: slow((id) => (random.chance(0.5) ? base.checkpoint(id) : Promise.resolve(null))),
    addPrompt: written(base.addPrompt),
    dropPrompt: written(base.dropPrompt),
    queuedPrompts: slow(base.queuedPrompts),
    sessionsWithQueue: slow(base.sessionsWithQueue),
    putRun: written(base.putRun),
    endRun: written(base.endRun),
    onCommitted(subscriber) {
      disk.subscriber = subscriber;
    },
  };
}

type Settled<Out> = { readonly value: Out } | { readonly error: unknown };

const settle = <Out>(work: Promise<Out>): Promise<Settled<Out>> =>
  work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

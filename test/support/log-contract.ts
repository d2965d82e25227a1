/** The promises of an event log, which every implementation keeps, as tests. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { emptySnapshot } from "../../src/core/snapshot.ts";
import { promptId, type SessionId } from "../../src/protocol/ids.ts";
import type { Append, EventGroup, EventLog, Owner } from "../../src/runtime/log/contract.ts";
import { openTail } from "../../src/runtime/log/follow.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { encodeEntry } from "./entries.ts";
import { removeFolder, session, tempFolder } from "./sessions.ts";

export type OpenLog = (folder: string) => EventLog | Promise<EventLog>;

export const me: Owner = { pid: 1, started: "a" };
export const other: Owner = { pid: 2, started: "b" };
export const settings = { create: { agent: "fake", directory: "/" }, forkOf: null };

export const summaryAt = (id: SessionId, sequence: number) =>
  summarise({ id, settings, snapshot: { ...emptySnapshot(), sequence } });

export function entry(id: SessionId, first: number, last: number, more: Partial<Append> = {}): Append {
  return {
    session: id,
    ...encodeEntry({ id, first, last }),
    prompts: [],
    items: [],
    summary: summaryAt(id, last),
    checkpoint: null,
    ...more,
  };
}

export const create = (log: EventLog, id: SessionId) => log.create({ id, settings, summary: summaryAt(id, 0) }, me);
export const spans = (groups: readonly EventGroup[]) => groups.map(({ first, last }) => [first, last]);
export const a = session("a");
export const b = session("b");

/** The promises, for one implementation. A log that is opened twice with one folder is the same log. */
export function describeLog(name: string, openLog: OpenLog): void {
  describe(name, () => {
    let folder: string;
    let log: EventLog;
    beforeEach(async () => {
      folder = tempFolder();
      log = await openLog(folder);
    });
    afterEach(async () => {
      await log.close();
      removeFolder(folder);
    });

    test("an append that is refused takes none of those with it that came in the same tick", async () => {
      await create(log, a);
      await create(log, b);
      const committed: (readonly number[])[] = [];
      log.onCommitted((groups) => committed.push(...spans(groups)));
      const appends = [entry(a, 1, 2), entry(b, 7, 8), entry(session("nobody"), 1, 1), entry(a, 3, 4)];
      const settled = await Promise.allSettled(appends.map((one) => log.append(one)));
      expect(settled.map((one) => (one.status === "fulfilled" ? "stored" : one.reason.code))).toEqual([
        "stored",
        "session_owned",
        "session_not_found",
        "stored",
      ]);
      const stored = [
        [1, 2],
        [3, 4],
      ];
      expect(spans(await log.read(a, { after: 0, maxBytes: 1e6 }))).toEqual(stored);
      expect(committed).toEqual(stored);
    });

    test("groups come back from any offset, with the events they hold", async () => {
      await create(log, a);
      await log.append(entry(a, 1, 3));
      await log.append(entry(a, 4, 4));
      await log.append(entry(a, 5, 9));
      const from = async (after: number) => spans(await log.read(a, { after, maxBytes: 1e6 }));
      expect(await from(0)).toEqual([
        [1, 3],
        [4, 4],
        [5, 9],
      ]);
      expect(await from(2)).toEqual([
        [1, 3],
        [4, 4],
        [5, 9],
      ]);
      expect(await from(3)).toEqual([
        [4, 4],
        [5, 9],
      ]);
      expect(await from(9)).toEqual([]);
      expect(spans(await log.read(a, { after: 0, maxBytes: 1 }))).toEqual([[1, 3]]);
      const [group] = await log.read(a, { after: 4, maxBytes: 1 });
      expect(group === undefined ? [] : group.events(6).map(({ sequence }) => sequence)).toEqual([7, 8, 9]);
    });

    test("groups are heard in order, with growing positions, before their append resolves", async () => {
      const heard: EventGroup[] = [];
      log.onCommitted((groups) => heard.push(...groups));
      await create(log, a);
      await create(log, b);
      await Promise.all([log.append(entry(a, 1, 2)), log.append(entry(b, 1, 1)), log.append(entry(a, 3, 3))]);
      expect(heard.map(({ session: id, first }) => [id, first])).toEqual([
        [a, 1],
        [b, 1],
        [a, 3],
      ]);
      expect(heard.map(({ position }) => position)).toEqual([1, 2, 3]);
      expect(log.position()).toBe(3);
      const all = await log.readAll({ after: 1, maxBytes: 1e6 });
      expect(all.map(({ session: id, first, position }) => [id, first, position])).toEqual([
        [b, 1, 2],
        [a, 3, 3],
      ]);
    });

    test("who does not go on from the last event is refused, and nothing of it is stored", async () => {
      await create(log, a);
      await log.append(entry(a, 1, 2));
      await expect(log.append(entry(a, 2, 3))).rejects.toMatchObject({ code: "session_owned" });
      await expect(log.append(entry(a, 4, 4))).rejects.toMatchObject({ code: "session_owned" });
      await expect(log.append(entry(b, 1, 1))).rejects.toMatchObject({ code: "session_not_found" });
      expect(spans(await log.read(a, { after: 0, maxBytes: 1e6 }))).toEqual([[1, 2]]);
      await log.append(entry(a, 3, 3));
    });

    test("native lines, items and checkpoints are stored with the group", async () => {
      await create(log, a);
      const items = [
        { number: 1, sequence: 2 },
        { number: 2, sequence: 3 },
      ];
      await log.append(entry(a, 1, 3, { items, checkpoint: { sequence: 3, state: "first" } }));
      await log.append(
        entry(a, 4, 6, { items: [{ number: 4, sequence: 5 }], checkpoint: { sequence: 6, state: "new" } }),
      );
      const { lines: native, hasMore } = await log.readNative(a, { after: 2, limit: 3 });
      expect(native.map(({ line }) => line)).toEqual([3, 4, 5]);
      expect(hasMore).toBe(true);
      expect((await log.readNative(a, { after: 5, limit: 3 })).hasMore).toBe(false);
      expect(await log.lastNativeLine(a)).toBe(6);
      expect(await log.itemsBefore(a, { before: 4, limit: 10 })).toEqual([2, 3]);
      expect(await log.itemsBefore(a, { before: 9, limit: 2 })).toEqual([3, 5]);
      expect(await log.checkpoint(a)).toEqual({ sequence: 6, state: "new" });
      expect(await log.checkpoint(b).catch(() => "none")).toBe("none");
      expect((await log.find(a))?.summary.lastSequence).toBe(6);
    });

    test("prompts keep their order and their key; what began to run is not queued any more", async () => {
      await create(log, a);
      const add = (name: string, idempotencyKey: string | null) =>
        log.addPrompt(a, {
          prompt: { prompt_id: promptId(name), text: name, attachments: [] },
          delivery: "queue",
          idempotencyKey,
          sequence: 7,
        });
      expect((await add("one", "k")).fresh).toBe(true);
      expect((await add("two", null)).fresh).toBe(true);
      expect((await add("three", null)).fresh).toBe(true);
      const again = await add("four", "k");
      expect(again).toMatchObject({ fresh: false, stored: { prompt: { text: "one" }, sequence: 7 } });
      const queued = async () => (await log.queuedPrompts(a)).map(({ prompt }) => prompt.text);
      expect(await queued()).toEqual(["one", "two", "three"]);
      expect(await log.sessionsWithQueue()).toEqual([a]);
      await log.append(entry(a, 1, 1, { prompts: [{ promptId: promptId("one"), status: "started" }] }));
      await log.dropPrompt(a, promptId("two"));
      expect(await queued()).toEqual(["three"]);
      expect((await add("five", "k")).stored).toMatchObject({ status: "started" });
    });

    test("a session has one owner, and only a dead one's may be taken", async () => {
      await create(log, a);
      expect(await log.claim(a, other, () => false)).toEqual(me);
      expect(await log.owned()).toEqual([{ id: a, owner: me }]);
      expect(await log.claim(a, other, () => true)).toEqual(other);
      await log.release(a, me);
      expect((await log.find(a))?.owner).toEqual(other);
      await log.release(a, other);
      expect((await log.find(a))?.owner).toBeNull();
      expect(await log.claim(a, me, () => false)).toEqual(me);
    });

    test("runs are noted until they end", async () => {
      await log.putRun({ runId: "r", session: a, owner: me, leader: null });
      await log.putRun({ runId: "r", session: a, owner: me, leader: { pid: 9, started: "x" } });
      expect(await log.runs()).toEqual([{ runId: "r", session: a, owner: me, leader: { pid: 9, started: "x" } }]);
      await log.endRun("r");
      expect(await log.runs()).toEqual([]);
    });

    test("a deleted session leaves nothing, its positions are not given again, and its id is free", async () => {
      await create(log, a);
      await create(log, b);
      await log.append(entry(a, 1, 500));
      await log.append(entry(b, 1, 1));
      await log.delete(a);
      expect((await log.list({ before: null, limit: 10 })).records.map(({ id }) => id)).toEqual([b]);
      await expect(log.read(a, { after: 0, maxBytes: 1 })).rejects.toMatchObject({ code: "session_not_found" });
      expect((await log.readAll({ after: 0, maxBytes: 1e6 })).map(({ session: id }) => id)).toEqual([b]);
      await create(log, a);
      expect(await log.read(a, { after: 0, maxBytes: 1 })).toEqual([]);
      await log.append(entry(a, 1, 1));
      expect(log.position()).toBe(3);
    });

    test.each([
      { tail: "short", options: { maxBytes: 2_000 } },
      { tail: "dropped now and then", options: { keptMs: 0 } },
    ])("readers get history, then live, without a gap or a repeat, however slow they are: tail $tail", async (way) => {
      const tail = openTail(log, way.options);
      await create(log, a);
      await create(log, b);
      const stop = new AbortController();
      const last = 120;
      const read = async (follow: AsyncIterable<EventGroup>, pause: number) => {
        const seen: string[] = [];
        for await (const group of follow) {
          seen.push(`${group.session}${group.first}-${group.last}`);
          for (let beats = 0; beats < pause; beats += 1) await new Promise((resolve) => setImmediate(resolve));
          if (group.last === last && group.session === a) break;
        }
        return seen;
      };
      await log.append(entry(a, 1, 5));
      await log.append(entry(b, 1, 5));
      const readers = [0, 1, 7].map((pause) => read(tail.follow(a, { after: 0, signal: stop.signal }), pause));
      const everything = [0, 3].map((pause) => read(tail.followAll({ after: 0, signal: stop.signal }), pause));
      for (let from = 6; from <= last; from += 5) {
        await Promise.all([log.append(entry(b, from, from + 4)), log.append(entry(a, from, from + 4))]);
        if (from % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      const own = Array.from({ length: last / 5 }, (_, at) => `a${at * 5 + 1}-${at * 5 + 5}`);
      for (const seen of await Promise.all(readers)) expect(seen).toEqual(own);
      for (const seen of await Promise.all(everything)) {
        expect(seen.filter((one) => one.startsWith("a"))).toEqual(own);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toHaveLength(2 * own.length);
      }
      tail.close();
    });
  });
}

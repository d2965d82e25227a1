/** What projections store in the log: the same promises of every implementation, as tests. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { emptySnapshot } from "../../src/core/snapshot.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { EventLog, ProjectionChange, RecordChange } from "../../src/runtime/log/contract.ts";
import { summarise } from "../../src/runtime/session/summary.ts";
import { encodeEvents } from "./entries.ts";
import type { OpenLog } from "./log-contract.ts";
import { removeFolder, session, tempFolder } from "./sessions.ts";

export const id = session("a");
const settings = { create: { agent: "fake", directory: "/" }, forkOf: null };
const summaryAt = (sequence: number) => summarise({ id, settings, snapshot: { ...emptySnapshot(), sequence } });
export const end = Number.MAX_SAFE_INTEGER;

export async function fill(log: EventLog, own: SessionId = id): Promise<void> {
  await log.create({ id: own, settings, summary: summaryAt(0) }, { pid: 1, started: "a" });
  const events = encodeEvents({ id: own, first: 1, last: 100 });
  const rest = { native: null, prompts: [], items: [], checkpoint: null };
  await log.append({ session: own, events, summary: summaryAt(100), ...rest });
}

export const put = (scope: string, ...ids: string[]): RecordChange[] =>
  ids.map((own) => ({ type: "put", scope, id: own, body: `${scope} ${own}` }));

export const change = (after: number, sequence: number, records: readonly RecordChange[] = []): ProjectionChange => ({
  after,
  checkpoint: { sequence, state: Buffer.from(`state ${sequence}`), known: Buffer.from(`known ${sequence}`) },
  records,
});

/** What projections store, for one implementation of the log. */
export function describeProjections(name: string, openLog: OpenLog): void {
  describe(name, () => {
    let folder: string;
    let log: EventLog;
    beforeEach(async () => {
      folder = tempFolder();
      log = await openLog(folder);
      await fill(log);
    });
    afterEach(async () => {
      await log.close();
      removeFolder(folder);
    });

    test("a checkpoint at or before a sequence, the latest with all that was known", async () => {
      const { projections } = log;
      const at = async (upTo: number) => {
        const found = await projections.checkpoint(id, { name: "p", upTo });
        return found === null
          ? null
          : [found.sequence, Buffer.from(found.state).toString(), found.known === null ? null : "known"];
      };
      expect(await at(end)).toBeNull();
      expect(await projections.keep(id, "p", change(0, 10))).toBe(true);
      expect(await projections.keep(id, "p", change(10, 20))).toBe(true);
      expect([await at(9), await at(10), await at(19), await at(end)]).toEqual([
        null,
        [10, "state 10", null],
        [10, "state 10", null],
        [20, "state 20", "known"],
      ]);
      expect(await projections.checkpoint(id, { name: "other", upTo: end })).toBeNull();
    });

    test("nobody who does not go on from what is there, and nothing that has not happened yet", async () => {
      const { projections } = log;
      expect(await projections.keep(id, "p", change(5, 10))).toBe(false);
      expect(await projections.keep(id, "p", change(0, 101))).toBe(false);
      expect(await projections.keep(id, "p", change(0, 10, put("s", "a")))).toBe(true);
      expect(await projections.keep(id, "p", change(0, 20, put("s", "b")))).toBe(false);
      expect(await projections.record(id, { name: "p", scope: "s", id: "b" })).toBeNull();
    });

    test("records stand in the order they first came, and are read from either end", async () => {
      const { projections } = log;
      const read = async (from: { after: number } | { before: number }, limit: number) =>
        (await projections.records(id, { name: "p", scope: "s", from, limit })).map((one) => one.id).join("");
      const placeOf = async (own: string) =>
        (await projections.record(id, { name: "p", scope: "s", id: own }))?.place ?? Number.NaN;
      await projections.keep(id, "p", change(0, 10, [...put("s", "c", "a", "b"), ...put("t", "x")]));
      await projections.keep(id, "p", change(10, 20, [...put("s", "d"), ...put("s", "a")]));
      expect(await read({ after: 0 }, 9)).toBe("cabd");
      expect(await read({ after: await placeOf("c") }, 2)).toBe("ab");
      expect(await read({ before: end }, 2)).toBe("bd");
      expect(await read({ before: await placeOf("b") }, 9)).toBe("ca");
      await projections.keep(
        id,
        "p",
        change(20, 30, [
          { type: "remove", scope: "s", id: "a" },
          { type: "clear", scope: "t" },
        ]),
      );
      expect(await read({ after: 0 }, 9)).toBe("cbd");
      expect(await projections.record(id, { name: "p", scope: "t", id: "x" })).toBeNull();
      await projections.clear(id, "p");
      expect(await read({ after: 0 }, 9)).toBe("");
      expect(await projections.checkpoint(id, { name: "p", upTo: end })).toBeNull();
    });

    test("a session that is deleted takes it along", async () => {
      await log.projections.keep(id, "p", change(0, 10, put("s", "a")));
      await log.delete(id);
      await expect(log.projections.record(id, { name: "p", scope: "s", id: "a" })).rejects.toThrow(/no session/);
      await fill(log);
      expect(await log.projections.record(id, { name: "p", scope: "s", id: "a" })).toBeNull();
      expect(await log.projections.checkpoint(id, { name: "p", upTo: end })).toBeNull();
    });
  });
}

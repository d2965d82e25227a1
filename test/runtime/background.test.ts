/** Background tasks: an error never ends the process, the task is tried again, and it is reported until it works. */
import { expect, test } from "vitest";
import { ApiError } from "../../src/protocol/errors.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { followGroups, openBackground } from "../../src/runtime/background.ts";
import type { EventGroup, Follow } from "../../src/runtime/log/contract.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { realSystem, type System } from "../../src/runtime/system.ts";

/** Delays before the next try pass at once and are noted; a task never counts as working by time alone. */
function fastSystem(): { readonly system: System; readonly delays: number[] } {
  const delays: number[] = [];
  const after: System["after"] = (ms, run) => {
    if (ms > 5_000) return { cancel: () => {} };
    delays.push(ms);
    return realSystem.after(0, run);
  };
  return { system: { ...realSystem, after }, delays };
}

const forever = (): AbortSignal => new AbortController().signal;

test("a task that fails starts again with growing delays, and is reported until it works", async () => {
  const { system, delays } = fastSystem();
  const background = openBackground({ logger: silentLogger, system });
  const reported: unknown[] = [];
  let runs = 0;
  const work = async (): Promise<void> => {
    runs += 1;
    reported.push(background.failing());
    if (runs < 4) throw new ApiError("storage_error", "The file /secret/place cannot be written.");
  };
  await background.start("metrics", work, forever()).ended();
  expect(delays).toEqual([100, 200, 400]);
  const failing = [{ name: "metrics", error: "storage_error" }];
  expect(reported).toEqual([[], failing, failing, failing]);
  expect(background.failing()).toEqual([]);
  expect([...background.failures()]).toEqual([["metrics", 3]]);
});

test("a signal ends a task that waits for its next try", async () => {
  const stopped = new AbortController();
  const background = openBackground({ logger: silentLogger });
  const task = background.start("plugins", () => Promise.reject(new Error("no")), stopped.signal);
  await expect.poll(() => background.failures().get("plugins") ?? 0).toBeGreaterThan(0);
  stopped.abort();
  await task.ended();
});

test("work that runs once is reported when it rejects or throws, and after the next success no more", async () => {
  const background = openBackground({ logger: silentLogger });
  background.run("recovery", () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })));
  background.run("quota", () => {
    throw new TypeError("a bug");
  });
  await expect.poll(background.failing).toEqual([
    { name: "quota", error: "TypeError" },
    { name: "recovery", error: "ECONNREFUSED" },
  ]);
  background.run("recovery", async () => {});
  background.run("quota", async () => {});
  await expect.poll(background.failing).toEqual([]);
});

test("a reader of all sessions continues where it was: no group is missed, none is passed on twice", async () => {
  const { system } = fastSystem();
  const background = openBackground({ logger: silentLogger, system });
  const all = Array.from({ length: 20 }, (_, index) => ({ position: index + 1 }));
  let reads = 0;
  /** Every third read fails, in the middle. */
  async function* followAll({ after }: Follow): AsyncGenerator<EventGroup> {
    for (const { position } of all.slice(after)) {
      reads += 1;
      if (reads % 3 === 0) throw new ApiError("storage_error", "away");
      yield groupAt(position);
    }
  }
  const seen: number[] = [];
  const work = followGroups({ followAll }, { after: 0, signal: forever() }, ({ position }) => {
    seen.push(position);
  });
  await background.start("metrics", work, forever()).ended();
  expect(seen).toEqual(all.map(({ position }) => position));
  expect(background.failures().get("metrics")).toBeGreaterThan(5);
});

function groupAt(position: number): EventGroup {
  const unused = (): never => {
    throw new Error("not used");
  };
  const read = { time: unused, events: unused, notable: unused, sse: unused };
  return { session: sessionId("s"), first: position, last: position, position, size: 1, ...read };
}

/** How soon an event that one host stores reaches a reader on another: woken, not polled. Printed, not timed. */
import { expect, test } from "vitest";
import { openTail } from "../../src/runtime/log/follow.ts";
import { a, create, entry } from "../support/log-contract.ts";
import { openLog } from "../support/postgres.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";

const APPENDS = 200;

test("events cross from host to host, each once", async () => {
  const folder = tempFolder();
  const [one, two] = [await openLog(folder, { host: "one" }), await openLog(folder, { host: "two" })];
  await create(one, a);
  const tail = openTail(two);
  const follow = tail.follow(a, { after: 0, signal: new AbortController().signal })[Symbol.asyncIterator]();
  const times: number[] = [];
  for (let at = 1; at <= APPENDS; at += 1) {
    const next = follow.next();
    const from = performance.now();
    await one.append(entry(a, at, at));
    const { value } = await next;
    times.push(performance.now() - from);
    expect(value.last).toBe(at);
  }
  times.sort((x, y) => x - y);
  const shown = (share: number): string => `${times[Math.floor(share * (APPENDS - 1))]?.toFixed(1)} ms`;
  console.log(`append to delivery on another host: p50 ${shown(0.5)}, p99 ${shown(0.99)} (${APPENDS} appends)`);
  tail.close();
  await Promise.all([one.close(), two.close()]);
  removeFolder(folder);
});

/** Measures how long other sessions wait while one session has many open tool calls. */
import { idleAt, openStream, post } from "./http.ts";
import { atMost, type Measurement, ms, whole } from "./measure.ts";
import { startFranca } from "./programs.ts";

const CALLS = 100_000;
const QUICK_CALLS = 10_000;
/** Deltas of one prompt of the session that is measured, one each millisecond. */
const PACED = 2_000;
const STAMP = /"delta":"@(\d+)@/g;

export const stalls: Measurement = {
  name: "stall",
  quick: true,
  async run({ quick }) {
    const calls = quick ? QUICK_CALLS : CALLS;
    const franca = await startFranca();
    try {
      const [busy, measured] = [`${franca.url}/v1/sessions/busy`, `${franca.url}/v1/sessions/measured`];
      for (const session of [busy, measured]) {
        await post(session, { agent: "claude", directory: process.cwd() });
        await post(`${session}/messages/stream`, { message: "pace 500" });
      }
      const waits = { longest: 0, count: 0 };
      const stream = await openStream(`${measured}/events/sse?offset=${await idleAt(measured)}`, (chunk) => {
        const now = Number(process.hrtime.bigint()) / 1e6;
        for (const [, stamp] of chunk.toString("latin1").matchAll(STAMP)) {
          waits.count += 1;
          waits.longest = Math.max(waits.longest, now - Number(stamp) / 1e6);
        }
      });
      const startedAt = performance.now();
      const work = { done: false };
      const opening = post(`${busy}/messages/stream`, { message: `calls ${calls}` }).then(() => {
        work.done = true;
      });
      while (!work.done) await post(`${measured}/messages/stream`, { message: `pace ${PACED}` });
      await opening;
      const seconds = (performance.now() - startedAt) / 1_000;
      stream.close();
      const about = `${whole(calls)} open tool calls`;
      return [
        {
          what: `longest stall of a second session, ${about}`,
          measured: ms(waits.longest),
          target: atMost(waits.longest, 100, " ms"),
        },
        { what: `a turn with ${about}, begun and done`, measured: `${seconds.toFixed(1)} s`, target: null },
      ];
    } finally {
      await franca.stop();
    }
  },
};

/** A very long session, and somebody who comes back to some place in it: the first event takes no longer anywhere. */
import { idleAt, openStream, post } from "./http.ts";
import { atMost, type Measurement, median, ms, times } from "./measure.ts";
import { type Program, startFranca } from "./programs.ts";

const FLOOD = 250_000;
const FLOODS = 4;
const TRIES = 15;

export const reconnecting: Measurement = {
  name: "reconnect",
  quick: false,
  async run() {
    const franca = await startFranca();
    try {
      const session = `${franca.url}/v1/sessions/long`;
      await post(session, { agent: "mock", directory: process.cwd() });
      for (let flood = 0; flood < FLOODS; flood += 1) {
        await post(`${session}/messages`, { message: `flood ${FLOOD}` });
        await idleAt(session);
      }
      const last = await idleAt(session);
      const places = [0, 0.1, 0.5, 0.9, 0.999].map((share) => Math.floor(last * share));
      const taken: number[] = [];
      for (const place of places) taken.push(await firstEvent(franca, place));
      const slowest = Math.max(...taken);
      const spread = slowest / Math.min(...taken);
      const what = `first event at an offset of ${last.toLocaleString("en")} events`;
      return [
        { what: `${what}, slowest place`, measured: ms(slowest), target: atMost(slowest, 20, " ms") },
        { what: "slowest place beside the quickest", measured: times(spread), target: atMost(spread, 3) },
      ];
    } finally {
      await franca.stop();
    }
  },
};

async function firstEvent(franca: Program, offset: number): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < TRIES; round += 1) {
    const startedAt = performance.now();
    taken.push(
      await new Promise<number>((resolve, reject) => {
        const opened = openStream(`${franca.url}/v1/sessions/long/events/sse?offset=${offset}`, (chunk) => {
          if (!chunk.includes("\ndata: ")) return;
          resolve(performance.now() - startedAt);
          void opened.then((stream) => stream.close());
        });
        opened.catch(reject);
      }),
    );
  }
  return median(taken);
}

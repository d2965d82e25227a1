/** From nothing to healthy, beside a server that does nothing; and what the daemon weighs then. */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { post, send } from "./http.ts";
import { atMost, inTurns, type Measurement, median, ms, times } from "./measure.ts";
import { addressOf, memoryNow, startFranca, stop } from "./programs.ts";

const SESSIONS = 1_000;
const AT_ONCE = 20;
/** Sessions with nothing to do are let go after half a minute. */
const LET_GO_MS = 40_000;

/** The empty server: what starting Node costs anyone. */
export function playEmpty(): void {
  const server = createServer((_incoming, outgoing) => outgoing.end("ok"));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address !== null && typeof address === "object") console.log(`http://127.0.0.1:${address.port}`);
  });
}

async function startEmpty(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [process.argv[1] ?? "", "empty"], { stdio: ["ignore", "pipe", "inherit"] });
  await send("GET", await addressOf(child));
  const taken = performance.now() - startedAt;
  await stop(child);
  return taken;
}

async function startDaemon(): Promise<number> {
  const startedAt = performance.now();
  const franca = await startFranca();
  await send("GET", `${franca.url}/v1/health`);
  const taken = performance.now() - startedAt;
  await franca.stop();
  return taken;
}

export const starting: Measurement = {
  name: "start",
  quick: true,
  async run({ quick }) {
    const taken = await inTurns(quick ? 7 : 15, [startDaemon, startEmpty]);
    const ratio = median(taken.ours) / median(taken.theirs);
    const measured = `${times(ratio)} (${ms(median(taken.ours))}, ${ms(median(taken.theirs))})`;
    return [{ what: "cold start to healthy, beside an empty server", measured, target: atMost(ratio, 2.5) }];
  },
};

export const weight: Measurement = {
  name: "memory",
  quick: false,
  async run() {
    const franca = await startFranca();
    try {
      await send("GET", `${franca.url}/v1/health`);
      const idle = memoryNow(franca.pid) ?? 0;
      for (let made = 0; made < SESSIONS; made += AT_ONCE) {
        const numbers = Array.from({ length: AT_ONCE }, (_, index) => made + index);
        await Promise.all(numbers.map((number) => makeIdle(`${franca.url}/v1/sessions/idle-${number}`)));
      }
      const busy = (memoryNow(franca.pid) ?? 0) - idle;
      await new Promise((resolve) => setTimeout(resolve, LET_GO_MS));
      const more = (memoryNow(franca.pid) ?? 0) - idle;
      return [
        { what: "an idle daemon", measured: `${idle.toFixed(0)} MiB`, target: atMost(idle, 80, " MiB") },
        {
          what: `${SESSIONS} sessions that had a turn and are idle`,
          measured: `${more.toFixed(0)} MiB more (${busy.toFixed(0)} right after their turns)`,
          target: atMost(more, 50, " MiB"),
        },
      ];
    } finally {
      await franca.stop();
    }
  },
};

async function makeIdle(session: string): Promise<void> {
  await post(session, { agent: "mock", directory: process.cwd() });
  // Held open until the turn is over.
  await post(`${session}/messages/stream`, { message: "echo hello" });
}

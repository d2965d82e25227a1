/** The daemon killed in mid-flood, again and again: what a client has seen stays, and nothing comes twice. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { type ServedDaemon, serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { isIdle, listen as listenLikeOpenCode } from "../support/opencode-client.ts";
import { isGapless, listen } from "../support/streams.ts";

const KILLS = 10;
/** Ten starts of the daemon, on a machine that has other things to do. */
const TIMEOUT_MS = 180_000;
const CLIENTS = 3;

test("kill -9 in mid-flood ten times, clients reconnecting: nothing seen is missing, nothing comes twice", {
  timeout: TIMEOUT_MS,
}, async () => {
  const home = temporaryFolder();
  const start = (port: string): Promise<ServedDaemon> => serve({ home, args: ["--port", port, "--no-token"] });
  let daemon = await start("0");
  const { url } = daemon;
  const { port } = new URL(url);
  const client = connect({ url });
  const session = await client.create({ id: "flood", agent: "mock", directory: home });
  const contents = new Map<number, string>();
  let wanted = 0;
  let enough = (): void => {};
  const clients = Array.from({ length: CLIENTS }, () =>
    listen({
      url,
      session: "flood",
      until: "session.ended",
      persistent: true,
      // Whoever sees an event sees the same event, before and after a crash.
      onEvent: (sequence, data) => {
        const known = contents.get(sequence) ?? data;
        contents.set(sequence, known);
        if (contents.size >= wanted) enough();
        if (known !== data) throw new Error(`Event ${sequence} has changed.`);
      },
    }),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    // In the middle of the flood, and every time somewhere else.
    wanted = contents.size + 500 + 300 * kill;
    const flooding = new Promise<void>((resolve) => {
      enough = resolve;
    });
    await session.prompt("flood 100000");
    await flooding;
    const gone = once(daemon.child, "exit");
    daemon.child.kill("SIGKILL");
    await gone;
    daemon = await start(port);
  }
  await session.terminate();
  await Promise.all(clients.map(({ done }) => done));
  const { lastSequence } = await session.get({ limit: 0 });
  for (const { seen } of clients) {
    expect(isGapless(seen)).toBe(true);
    expect(seen).toHaveLength(lastSequence);
  }
  const ends = [...contents.values()].map((line) => JSON.parse(line)).filter(({ type }) => type === "turn.ended");
  expect(ends.map(({ data }) => `${data.reason} ${data.evidence}`)).toEqual(Array(KILLS).fill("interrupted restart"));
});

test("kill -9 in mid-turn: OpenCode's TUI, which does not say what it heard, is told how the turn ended", async () => {
  const home = temporaryFolder();
  const first = await serve({ home, args: ["--port", "0", "--no-token"] });
  const { port } = new URL(first.url);
  const session = await connect({ url: first.url }).create({ agent: "mock", directory: home });
  for await (const { type } of session.ask("long 1000")) if (type === "item.delta") break;
  const gone = once(first.child, "exit");
  first.child.kill("SIGKILL");
  await gone;
  const { url } = await serve({ home, args: ["--port", port, "--no-token"] });

  const { opencodeId = "" } = await session.get();
  const tui = await listenLikeOpenCode(`${url}/opencode`, { path: "/global/event" });
  await tui.until(isIdle(opencodeId));
  const ended = tui.heard.map(({ event }) => event).filter(({ type }) => type === "message.updated");
  expect(ended).toMatchObject([
    { properties: { info: { role: "assistant", time: { completed: expect.any(Number) } } } },
  ]);

  // Once something else has happened, that is what counts.
  for await (const _ of session.ask("echo on"));
  const late = await listenLikeOpenCode(`${url}/opencode`, { path: "/global/event" });
  const prompted = session.prompt("echo once more");
  await late.until(isIdle(opencodeId));
  await prompted;
  expect(late.heard.map(({ event }) => event).filter(isIdle(opencodeId))).toHaveLength(1);
});

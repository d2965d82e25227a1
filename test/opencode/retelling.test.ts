/** The retelling behind the OpenCode surface: whatever happens to sessions and readers around it, it goes on. */
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { defaultOptions, openCodeSessionId } from "../../src/projections/opencode/index.ts";
import type { Sessions } from "../../src/runtime/contract.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { openRetelling } from "../../src/server/opencode/retelling.ts";
import { alone, openStreams } from "../../src/server/opencode/stream.ts";
import { isIdle, listen } from "../support/opencode-client.ts";
import { open, session, turn } from "../support/sessions.ts";

async function openSessionsHere(): Promise<Sessions> {
  const sessions = await open(null);
  onTestFinished(() => sessions.close());
  return sessions;
}

function retell(sessions: Sessions, more: { readonly ringBytes?: number } = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const given = { sessions, options: defaultOptions, stopped: stop.signal, logger: silentLogger };
  return { retelling: openRetelling({ ...given, ...more }), stopped: stop.signal };
}

/** A daemon with nothing but the stream of events. */
async function serveStream(sessions: Sessions, more: { readonly ringBytes?: number }): Promise<string> {
  const { retelling, stopped } = retell(sessions, more);
  const streams = openStreams({ retelling, options: defaultOptions });
  const server = createServer((incoming, outgoing) => {
    void streams.serve({ sessions, incoming, outgoing, stopped }, { form: alone, directory: null });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return `http://127.0.0.1:${address.port}`;
}

test("a client that the ring leaves behind again and again hears everything once", async () => {
  const sessions = await openSessionsHere();
  const id = session("behind");
  await sessions.create(id, { agent: "mock", directory: "/" });
  await turn(sessions, id, "echo before");
  // So small that the ring never holds more than the latest batch.
  const base = await serveStream(sessions, { ringBytes: 1 });
  const client = await listen(base);
  await Promise.all(
    ["one", "two", "three"].map(async (name) => {
      const other = session(name);
      await sessions.create(other, { agent: "mock", directory: "/" });
      for (let round = 0; round < 5; round += 1) await turn(sessions, other, "flood 50");
    }),
  );
  await turn(sessions, id, "echo after");
  await client.until(isIdle(openCodeSessionId(id)));
  const ids = client.heard.flatMap((one) => (one.id === null ? [] : [one.id]));
  expect(ids.length).toBeGreaterThan(300);
  expect(new Set(ids).size).toBe(ids.length);
  const whole = await listen(base, { after: ids[0] ?? "" });
  await whole.until(isIdle(openCodeSessionId(id)));
  expect(whole.heard.flatMap((one) => (one.id === null ? [] : [one.id]))).toEqual(ids.slice(1));
  const prompts = client.heard.filter(({ event }) => JSON.stringify(event).includes("echo before"));
  expect(prompts).toEqual([]);
});

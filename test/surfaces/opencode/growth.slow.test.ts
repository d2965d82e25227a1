/**
 * On the OpenCode surface, too, an event costs what it costs, however many came before it: what is read from the log
 * is counted, not time.
 */
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { defaultOptions, openCodeSessionId } from "../../../src/projections/opencode/index.ts";
import { openBackground } from "../../../src/runtime/background.ts";
import type { EventLog } from "../../../src/runtime/log/contract.ts";
import type { openSqliteLog } from "../../../src/runtime/log/sqlite/open.ts";
import { silentLogger } from "../../../src/runtime/logger.ts";
import type { Sessions } from "../../../src/runtime/session/contract.ts";
import { OWNER } from "../../../src/server/credentials/access.ts";
import { alone, openEventStreams } from "../../../src/server/opencode/events.ts";
import { messagesJson } from "../../../src/server/opencode/messages.ts";
import { openSessionViews, type SessionViews } from "../../../src/server/opencode/session-views.ts";
import { isIdle, listen } from "../../support/opencode-client.ts";
import { open, removeFolder, session, tempFolder, turn } from "../../support/sessions.ts";

const id = session("long");
const own = openCodeSessionId(id);
/** Both are longer than what is read between two checkpoints. */
const SHORT = 20_000;
const LONG = 1_000_000;
const FLOOD = 20_000;

/** The logs that sessions have opened: they count what is read of them. */
const logs = vi.hoisted((): Pick<EventLog, "work">[] => []);
vi.mock("../../../src/runtime/log/sqlite/open.ts", async (load) => {
  const own = await load<{ readonly openSqliteLog: typeof openSqliteLog }>();
  return {
    ...own,
    openSqliteLog(options: Parameters<typeof openSqliteLog>[0]) {
      const log = own.openSqliteLog(options);
      logs.push(log);
      return log;
    },
  };
});

async function readsOf(work: () => Promise<unknown>): Promise<{ rows: number; bytes: number }> {
  const log = logs.at(-1);
  const before = log?.work();
  await work();
  const after = log?.work();
  if (before === undefined || after === undefined) throw new Error("No log is open.");
  return { rows: after.rows - before.rows, bytes: after.bytes - before.bytes };
}

let folder: string;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => removeFolder(folder));

interface Surface {
  readonly views: SessionViews;
  readonly url: string;
  readonly close: () => Promise<void>;
}

async function serve(sessions: Sessions): Promise<Surface> {
  const stop = new AbortController();
  const given = { logger: silentLogger, background: openBackground({ logger: silentLogger }) };
  const views = openSessionViews({ sessions, options: defaultOptions, stopped: stop.signal, ...given });
  const streams = openEventStreams({ views });
  const server = createServer((incoming, outgoing) => {
    const call = { sessions, views, caller: OWNER, incoming, outgoing, stopped: stop.signal };
    void streams.serve(call, { form: alone, directory: null });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const close = async (): Promise<void> => {
    stop.abort();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await sessions.close();
  };
  return { views, url: `http://127.0.0.1:${address.port}`, close };
}

/** A short turn after all the others, heard live; heard again by a client that was away; and opened after a restart. */
async function costs(sessions: Sessions) {
  const first = await serve(sessions);
  await first.views.find(own);
  const client = await listen(first.url);
  await turn(sessions, id, "echo before");
  await client.until(isIdle(own));
  const lastId = client.heard.findLast((one) => one.id !== null)?.id ?? "";
  const count = client.heard.length;
  const live = await readsOf(async () => {
    await turn(sessions, id, "echo now");
    await client.until((event) => isIdle(own)(event) && client.heard.findIndex((one) => one.event === event) >= count);
  });
  client.close();
  const catchingUp = await readsOf(async () => {
    const late = await listen(first.url, { after: lastId });
    await late.until(isIdle(own));
    late.close();
  });
  await first.close();
  const again = await open(folder);
  const second = await serve(again);
  const opening = await readsOf(() => second.views.find(own));
  const view = await second.views.find(own);
  if (view === null) throw new Error("The session is gone.");
  const messages = await readsOf(async () => {
    const conversation = { projections: again.projections, view, session: view.openCodeId };
    for await (const piece of messagesJson(conversation, { limit: 2, before: null })) expect(piece).not.toBe("");
  });
  await second.close();
  return { live, catchingUp, opening, messages };
}

async function growTo(sessions: Sessions, length: number): Promise<void> {
  let { lastSequence } = await sessions.get(id, { limit: 0 });
  while (lastSequence < length) {
    await turn(sessions, id, `flood ${Math.min(FLOOD, length - lastSequence)}`);
    ({ lastSequence } = await sessions.get(id, { limit: 0 }));
  }
}

test("live, catching up and after a restart, a million events cost what some thousands do", async () => {
  const begun = await open(folder);
  await begun.create(id, { agent: "mock", directory: "/" });
  await growTo(begun, SHORT);
  const short = await costs(begun);
  const grown = await open(folder);
  onTestFinished(() => grown.close());
  await growTo(grown, LONG);
  const long = await costs(grown);
  for (const what of ["live", "catchingUp", "opening", "messages"] as const) {
    expect(long[what].rows, what).toBeLessThanOrEqual(2 * short[what].rows + 20);
    expect(long[what].bytes, what).toBeLessThanOrEqual(2 * short[what].bytes + 50_000);
  }
}, 900_000);

/** Plugins receive OpenCode's events, the same ones that OpenCode's clients receive, also after a restart. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { toOpenCode } from "../support/dialects.ts";
import { temporaryFolder } from "../support/folders.ts";
import { isIdle } from "../support/opencode-client.ts";

/** Hands what it receives to the file's name in `globalThis`. */
const plugin = (name: string): string =>
  `export const listening = async () => ({ event: async ({ event }) => globalThis[${JSON.stringify(name)}](event) });`;

async function openPlugged(data: string) {
  const folder = temporaryFolder();
  const name = `received in ${folder}`;
  writeFileSync(join(folder, "plugin.js"), plugin(name));
  const received: OpenCodeEvent[] = [];
  let arrived = (): void => {};
  Object.defineProperty(globalThis, name, {
    value: (event: OpenCodeEvent) => {
      received.push(event);
      arrived();
    },
  });
  const daemon = await startDaemon({ store: "sqlite", data, plugins: ["./plugin.js"], configFolder: folder });
  const turn = async (id: string): Promise<void> => {
    await daemon.sessions.prompt(sessionId(id), { text: "tool" });
    while (!received.some(isIdle(id))) {
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
    }
  };
  return { daemon, received, turn };
}

const eventsIn = async ({ sessions }: TestDaemon, id: string) =>
  (await sessions.events(sessionId(id), { offset: 0, limit: 1_000, includeRaw: false })).events;

test("after a restart they name the provider, the model and the same ids", async () => {
  const data = temporaryFolder();
  const id = "ses_plugged";
  const first = await openPlugged(data);
  await first.daemon.sessions.create(sessionId(id), { agent: "mock", directory: data });
  await first.turn(id);
  await first.daemon.close();

  const second = await openPlugged(data);
  await second.turn(id);
  const all = toOpenCode(await eventsIn(second.daemon, id));
  expect(second.received).toEqual(all.slice(-second.received.length));
  const answers = second.received.flatMap((event) =>
    event.type === "message.updated" && event.properties.info.role === "assistant" ? [event.properties.info] : [],
  );
  expect(answers.at(-1)).toMatchObject({ providerID: "mock", modelID: "mock-1" });
});

/** A process of its own with a builtin session in it, made to be killed. Says its events as lines. */
import { tmpdir } from "node:os";
import { builtin } from "../../src/adapters/builtin/index.ts";
import { createBuiltinAgent, historyFrom, readBuiltinConfig } from "../../src/builtin/index.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { openSessions } from "../../src/runtime/session/sessions.ts";

const [store = "", directory = "", baseURL = "", prompt = ""] = process.argv.slice(2);

const settings = readBuiltinConfig(
  { model: "anthropic/test-model", provider: { anthropic: { kind: "anthropic", baseURL, apiKey: "key" } } },
  { source: "owner" },
);
const sessions: Sessions = await openSessions({
  adapters: [builtin],
  inProcess: {
    builtin: createBuiltinAgent({
      settings,
      version: "test",
      loadHistory: historyFrom(() => sessions),
      environment: process.env,
    }),
  },
  logger: silentLogger,
  store: { kind: "sqlite", folder: store },
  toolsFolder: tmpdir(),
  role: "daemon",
  version: "test",
});
const id = sessionId("s");
await sessions.create(id, { agent: "builtin", directory, permissionMode: "bypass" });
await sessions.prompt(id, { text: prompt });
for await (const group of sessions.follow(id, { after: 0, signal: new AbortController().signal })) {
  for (const event of group.events()) process.stdout.write(`${JSON.stringify(event)}\n`);
}

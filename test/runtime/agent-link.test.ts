/** A session's link to its agent: one agent at a time, whatever the order in which it is asked for. */
import { expect, test } from "vitest";
import { mock } from "../../src/adapters/mock/index.ts";
import type { InProcessHost } from "../../src/core/in-process.ts";
import { openPool } from "../../src/runtime/agent/connection/shared.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { openAgentLink } from "../../src/runtime/session/agent-link.ts";
import { launchOptions } from "../support/live-session.ts";
import { session } from "../support/sessions.ts";

function openLink() {
  const agents: InProcessHost[] = [];
  const fed: string[] = [];
  const received: unknown[] = [];
  const link = openAgentLink({
    session: session("s"),
    adapter: mock,
    logger: silentLogger,
    inProcess: {
      mock: {
        open(host) {
          agents.push(host);
          return { receive() {} };
        },
      },
    },
    pool: openPool(),
    runs: { begin: async () => "run", started() {}, ended() {} },
    ladder: [],
    check() {},
    feed: ({ type }) => void fed.push(type),
    receive(heard) {
      received.push(heard.type === "line" ? heard.value : heard.type);
      return true;
    },
    environmentFor: () => ({}),
  });
  return { link, agents, fed, received };
}

test("of two starts in a row only the last is carried out", async () => {
  const { link, agents, fed } = openLink();
  link.connect(launchOptions);
  link.connect(launchOptions);
  await expect.poll(() => fed).toEqual(["connected"]);
  expect(agents).toHaveLength(1);
});

test("a start while an agent is there stops that one, and nothing more is heard of it", async () => {
  const { link, agents, fed, received } = openLink();
  link.connect(launchOptions);
  await expect.poll(() => fed).toEqual(["connected"]);
  link.connect(launchOptions);
  await expect.poll(() => fed).toEqual(["connected", "connected"]);
  const [former, latter] = agents;
  expect([former?.signal.aborted, latter?.signal.aborted]).toEqual([true, false]);
  former?.emit({ from: "former" });
  latter?.emit({ from: "latter" });
  expect(received).toEqual([{ from: "latter" }]);
});

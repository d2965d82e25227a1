/** While an agent works, every port on which the daemon or anything it started listens asks who is there. */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/folders.ts";
import { familyOf, listenersOf } from "../../support/listeners.ts";
import { describeNeeding } from "../../support/requires.ts";
import { agentNames, missing, oneTurn, says, serveAgent } from "../../support/security-agents.ts";

const PATHS = ["/session", "/config", "/event", "/global/health", "/v1/sessions", "/v1/events", "/metrics", "/no/such"];
const passwords = [null, "opencode:", "opencode:opencode", "opencode:wrong"] as const;

/** What `opencode serve` takes when nobody names a port. */
const DEFAULT_PORT = 4096;

const needs = process.platform === "linux" ? null : "listeners are read from /proc";

for (const agent of agentNames) {
  describeNeeding(`the ports of a daemon with ${agent}`, { missing: needs ?? missing(agent) }, () => {
    test("all of them answer 401 without the password", async () => {
      const home = realpathSync(temporaryFolder());
      const directory = join(home, "work");
      mkdirSync(directory);
      writeFileSync(join(directory, "README.md"), "# Demo\n");
      const { served, client, env } = await serveAgent(agent, { home, turns: [says("Here.")] });
      const session = await client.create({ agent, directory, env });
      const ended = (await oneTurn(session, () => true)).at(-1);
      expect(ended).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });

      const daemon = served.child.pid ?? 0;
      expect(familyOf(daemon).length).toBeGreaterThan(1);
      const listeners = listenersOf(daemon);
      expect(listeners).toContainEqual({ pid: daemon, port: Number(new URL(served.url).port) });
      if (agent === "opencode") expect(listeners.filter(({ pid }) => pid !== daemon)).not.toEqual([]);
      for (const { port } of listeners) {
        expect(port).not.toBe(DEFAULT_PORT);
        for (const path of PATHS) {
          for (const password of passwords) {
            const login = password === null ? {} : { authorization: `Basic ${btoa(password)}` };
            const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: login });
            await answer.body?.cancel();
            expect([port, path, password, answer.status]).toEqual([port, path, password, 401]);
          }
        }
      }
    });
  });
}

/** Conversations made with the real agents, adopted from their own files, and continued in them. */
import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import { codex } from "../../src/adapters/codex/index.ts";
import { opencode } from "../../src/adapters/opencode/index.ts";
import { prepare, scriptFor, servers } from "../../src/cli/doctor-trial.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { lint, universal } from "../../src/rules/index.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";
import { open, turn, wholeLog } from "../support/sessions.ts";

const says = (text: string): ScriptTurn => ({ type: "answer", blocks: [{ type: "text", text }] });

afterEach(() => vi.unstubAllEnvs());

/** The agent's program, a home of its own, and a model that answers twice. */
async function place({ binary, trial }: Adapter, program: string) {
  if (binary === null || trial === null) throw new Error("It cannot be tried.");
  const folder = temporaryFolder();
  const [work, programs] = [join(folder, "work"), join(folder, "bin")];
  for (const path of [work, programs]) mkdirSync(path);
  symlinkSync(program, join(programs, binary.name));
  const script = scriptFor(trial, [says("The word is pear."), says("It was pear.")]);
  const model = await servers[trial.model](script);
  onTestFinished(() => model.close());
  // The adopted session has no environment of its own: its agent gets Franca's.
  const env = {
    ...prepare(trial.setup({ folder, url: model.url })),
    PATH: `${programs}${delimiter}${process.env.PATH}`,
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return { folder, work, model, passEnv: Object.keys(env) };
}

for (const adapter of [claude, codex, opencode]) {
  const program = process.env[`FRANCA_TEST_${adapter.agent.toUpperCase()}`];
  const missing = program === undefined ? `run: npm run test:agents -- ${adapter.agent}` : null;

  describeNeeding(`${adapter.name}, adopted`, { missing }, () => {
    test("its own conversation is imported, continued by its native id, and not imported twice", async () => {
      const { folder, work, model, passEnv } = await place(adapter, program ?? "");
      const { agent } = adapter;
      const before = await open(null, { adapters: [adapter], passEnv });
      const begun = sessionId("begun-elsewhere");
      await before.create(begun, { agent, directory: work });
      const first = await turn(before, begun, "Remember the word pear.");
      expect(first.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
      const { nativeSessionId } = await before.get(begun);
      await before.close();

      const sessions = await open(join(folder, "data"), { adapters: [adapter], passEnv });
      onTestFinished(() => sessions.close());
      const { conversations } = await sessions.discover({ agent });
      expect(conversations).toMatchObject([{ nativeSessionId, directory: work, sessionId: null }]);
      const request = { agent, nativeSessionId: nativeSessionId ?? "", fork: false };
      const adopted = await sessions.adopt(request);
      expect(adopted).toMatchObject({ outcome: "adopted", turns: 1, open: false, notes: [] });
      const id = sessionId(adopted.sessionId);
      expect(JSON.stringify((await sessions.get(id)).items)).toContain("The word is pear.");

      const events = await turn(sessions, id, "Which word was it?");
      expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
      expect(JSON.stringify(events)).toContain("It was pear.");
      expect((await sessions.get(id)).nativeSessionId).toBe(nativeSessionId);
      // The agent itself remembers: its model is sent the first turn too.
      expect(model.requests.some(({ body }) => /pear[\s\S]*Which word/.test(JSON.stringify(body)))).toBe(true);

      expect(await sessions.adopt(request)).toMatchObject({ outcome: "unchanged", turns: 0 });
      expect(lint(universal, JSON.parse(JSON.stringify(await wholeLog(sessions, id))))).toEqual([]);
    });
  });
}

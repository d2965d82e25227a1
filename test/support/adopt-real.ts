/** A conversation that a real agent has had by itself, adopted from its own files, and continued in it. */
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { filesOf } from "../../src/adapters/session-files.ts";
import { prepare, scriptFor, servers } from "../../src/cli/doctor-trial.ts";
import type { Adapter } from "../../src/core/adapter.ts";
import type { ScriptTurn } from "../../src/model-server/script.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import { lint, universal } from "../../src/rules/index.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { temporaryFolder } from "./folders.ts";
import { open, turn, wholeLog } from "./sessions.ts";

const says = (text: string): ScriptTurn => ({ type: "answer", blocks: [{ type: "text", text }] });

export interface Programs {
  readonly program: string;
  /** The Node that the agent runs on, where it needs another one. */
  readonly node?: string;
}

/** The agent's program, a home of its own, and a model that answers twice. */
async function place({ binary, trial }: Adapter, { program, node }: Programs) {
  if (binary === null || trial === null) throw new Error("It cannot be tried.");
  const folder = temporaryFolder();
  const [work, programs] = [join(folder, "work"), join(folder, "bin")];
  for (const path of [work, programs]) mkdirSync(path);
  symlinkSync(program, join(programs, binary.name));
  const script = scriptFor(trial, [says("The word is pear."), says("It was pear.")]);
  const model = await servers[trial.model](script);
  onTestFinished(() => model.close());
  // The adopted session has no environment of its own: its agent gets Franca's.
  const path = [programs, ...(node === undefined ? [] : [dirname(node)]), process.env.PATH ?? ""];
  const env = { ...prepare(trial.setup({ folder, url: model.url })), PATH: path.join(delimiter) };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return { folder, work, model, passEnv: Object.keys(env) };
}

/** Gemini CLI loses a conversation that is loaded within the minute that its file is named by. */
function rename(folder: string): void {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const aged = basename(path).replace(/^session-\d{4}-\d\d-\d\dT\d\d-\d\d-/, "session-2020-01-01T00-00-");
    if (aged !== basename(path)) renameSync(join(folder, path), join(folder, dirname(path), aged));
  }
}

/** In the agent itself, as it were: a runtime that is gone when the conversation is adopted. */
async function begin(adapter: Adapter, { work, passEnv }: { work: string; passEnv: string[] }) {
  const sessions = await open(null, { adapters: [adapter], passEnv });
  const id = sessionId("begun-elsewhere");
  await sessions.create(id, { agent: adapter.agent, directory: work });
  const events = await turn(sessions, id, "Remember the word pear.");
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
  const { nativeSessionId } = await sessions.get(id);
  return { nativeSessionId: nativeSessionId ?? "", close: () => sessions.close() };
}

async function expectClean(sessions: Sessions, id: SessionId): Promise<void> {
  expect(lint(universal, JSON.parse(JSON.stringify(await wholeLog(sessions, id))))).toEqual([]);
}

export function adoptedSuite(adapter: Adapter, programs: Programs): void {
  const { agent } = adapter;
  afterEach(() => vi.unstubAllEnvs());

  test("its own conversation is imported, continued by its native id, and not imported twice", async () => {
    const { folder, work, model, passEnv } = await place(adapter, programs);
    const { nativeSessionId, close } = await begin(adapter, { work, passEnv });
    await close();
    rename(folder);

    const sessions = await open(join(folder, "data"), { adapters: [adapter], passEnv });
    onTestFinished(() => sessions.close());
    const { conversations } = await sessions.discover({ agent });
    expect(conversations).toMatchObject([{ nativeSessionId, directory: work, sessionId: null }]);
    const request = { agent, nativeSessionId, fork: false };
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
    await expectClean(sessions, id);
  });

  test.runIf(filesOf(agent)?.files.userOf !== undefined)(
    "while another process has it open, a prompt is refused and names it; a fork goes on in a copy",
    async () => {
      const { folder, work, passEnv } = await place(adapter, programs);
      const other = await begin(adapter, { work, passEnv });
      onTestFinished(other.close);
      const sessions = await open(join(folder, "data"), { adapters: [adapter], passEnv });
      onTestFinished(() => sessions.close());
      const { nativeSessionId } = other;
      const adopted = await sessions.adopt({ agent, nativeSessionId, fork: false });
      const id = sessionId(adopted.sessionId);
      await expect(sessions.prompt(id, { text: "Which word was it?" })).rejects.toMatchObject({
        code: "conversation_in_use",
        status: 409,
        message: expect.stringMatching(new RegExp(`\\(${agent}, pid \\d+\\)`)),
      });
      const forked = sessionId((await sessions.adopt({ agent, nativeSessionId, fork: true })).sessionId);
      const events = await turn(sessions, forked, "Which word was it?");
      expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "completed" } });
      expect(JSON.stringify(events)).toContain("It was pear.");
      expect((await sessions.get(forked)).nativeSessionId).not.toBe(nativeSessionId);
    },
  );
}

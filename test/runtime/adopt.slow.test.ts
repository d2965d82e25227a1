/** Adopting conversations out of agents' own files: imported whole, once, and safely. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { lint, universal } from "../../src/rules/index.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { recordedHome, sessionFileRecordings } from "../support/session-files.ts";
import { open, removeFolder, tempFolder } from "../support/sessions.ts";

let data: string;
let home: string;
let sessions: Sessions;

beforeEach(async () => {
  data = tempFolder();
  home = tempFolder();
  vi.stubEnv("HOME", home);
  for (const name of ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"]) vi.stubEnv(name, undefined);
  sessions = await open(data, { adapters });
});

afterEach(async () => {
  await sessions.close();
  vi.unstubAllEnvs();
  removeFolder(data);
  removeFolder(home);
});

/** Puts a recorded home in place of the user's. */
function useRecording(name: string): void {
  const recording = sessionFileRecordings.find((one) => one.name === name);
  if (recording === undefined) throw new Error(`There is no recording ${name}.`);
  const recorded = recordedHome(recording);
  cpSync(recorded.home, home, { recursive: true });
  recorded.remove();
}

const id = (text: string) => sessionId(text);

async function eventsOf(session: string): Promise<readonly UniversalEvent[]> {
  return (await sessions.events(id(session), { offset: 0, limit: 100_000, includeRaw: false })).events;
}

const ends = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => (event.type === "turn.ended" ? [event.data.reason] : []));

const CLAUDE = "5e551011-0000-4000-8000-000000000005";
const claudeFile = (): string => join(home, ".claude", "projects", "-workspace", `${CLAUDE}.jsonl`);

/** As if its agent had finished long ago. */
const age = (file: string): void => utimesSync(file, new Date(0), new Date(0));

describe("every recorded conversation", () => {
  test.each(sessionFileRecordings)("$name", async (recording) => {
    useRecording(recording.name);
    const before = filesIn(home);
    const { conversations, problems } = await sessions.discover({ agent: recording.about.agent });
    expect(problems).toEqual([]);
    for (const { agent, nativeSessionId, sessionId: known } of conversations) {
      expect(known).toBeNull();
      const adoption = await sessions.adopt({ agent, nativeSessionId, fork: false });
      expect(adoption.outcome).toBe("adopted");
      const events = await eventsOf(adoption.sessionId);
      expect(lint(universal, JSON.parse(JSON.stringify(events)))).toEqual([]);
      const said = recording.about.sessions.find((one) => one.id === nativeSessionId);
      // Its last turn may be left out, since the copied file is new.
      const expected = said?.turns.map(({ end }) => end) ?? [];
      expect(ends(events)).toEqual(adoption.open ? expected.slice(0, -1) : expected);
      const session = await sessions.get(id(adoption.sessionId));
      expect(session).toMatchObject({ status: "idle", permissionMode: "default", nativeSessionId });
      const again = await sessions.adopt({ agent, nativeSessionId, fork: false });
      expect(again).toMatchObject({ sessionId: adoption.sessionId, outcome: "unchanged", turns: 0 });
      expect(await eventsOf(adoption.sessionId)).toEqual(events);
    }
    expect(filesIn(home)).toEqual(before);
  });
});

/** Names, sizes and contents: nothing of the agents' may change. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((path) => {
      const stats = statSync(join(folder, path));
      return stats.isFile() ? `${path} ${readFileSync(join(folder, path)).toString("base64")}` : path;
    });

describe("a conversation that goes on", () => {
  test("gets the turns that others have added, once, with their own times", async () => {
    useRecording("claude/two-turns");
    const whole = readFileSync(claudeFile(), "utf8");
    const second = whole.indexOf('"Run echo a and echo b."');
    const cut = whole.lastIndexOf("\n", second) + 1;
    // Half a line: its agent is writing.
    writeFileSync(claudeFile(), whole.slice(0, second));
    age(claudeFile());
    const first = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    expect(first).toMatchObject({ outcome: "adopted", turns: 1, open: false });
    writeFileSync(claudeFile(), whole.slice(0, cut));
    appendFileSync(claudeFile(), whole.slice(cut));
    age(claudeFile());
    const next = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    expect(next).toMatchObject({ sessionId: first.sessionId, outcome: "updated", turns: 1 });
    const events = await eventsOf(first.sessionId);
    expect(ends(events)).toEqual(["completed", "completed"]);
    expect(lint(universal, JSON.parse(JSON.stringify(events)))).toEqual([]);
    expect(events.every(({ time }) => time.startsWith("2026-11-16T06:02:3"))).toBe(true);
    expect(await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false })).toMatchObject({
      outcome: "unchanged",
    });
  });

  test("a turn that still runs is left to the next time", async () => {
    useRecording("claude/two-turns");
    const whole = readFileSync(claudeFile(), "utf8");
    writeFileSync(claudeFile(), whole.slice(0, whole.lastIndexOf('"type":"assistant"')));
    const first = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    expect(first).toMatchObject({ outcome: "adopted", turns: 1, open: true });
    writeFileSync(claudeFile(), whole);
    const next = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    expect(next).toMatchObject({ outcome: "updated", turns: 1, open: false });
    expect(ends(await eventsOf(first.sessionId))).toEqual(["completed", "completed"]);
  });

  test("is recovered from the log after a restart, and listed as adopted", async () => {
    useRecording("claude/two-turns");
    const { sessionId: session } = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    const events = await eventsOf(session);
    await sessions.close();
    sessions = await open(data, { adapters });
    expect(await eventsOf(session)).toEqual(events);
    expect((await sessions.discover({})).conversations).toMatchObject([{ sessionId: session }]);
    expect(await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false })).toMatchObject({
      outcome: "unchanged",
    });
  });

  test("a fork has the history and leaves the conversation alone", async () => {
    useRecording("claude/two-turns");
    const forked = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: true });
    expect(forked.sessionId).not.toBe(`claude-${CLAUDE}`);
    const session = await sessions.get(id(forked.sessionId));
    expect(session.nativeSessionId).toBeNull();
    expect(JSON.stringify(session.items)).toContain("Both ran.");
  });
});

describe("what is refused", () => {
  const note = (pid: number): void => {
    mkdirSync(join(home, ".claude", "sessions"), { recursive: true });
    writeFileSync(join(home, ".claude", "sessions", `${pid}.json`), JSON.stringify({ pid, sessionId: CLAUDE }));
  };

  test("a prompt while another process has the conversation open: it names the process", async () => {
    useRecording("claude/two-turns");
    const { sessionId: session } = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    note(process.pid);
    await expect(sessions.prompt(id(session), { text: "Go on." })).rejects.toMatchObject({
      code: "conversation_in_use",
      status: 409,
      message: expect.stringContaining(`pid ${process.pid}`),
    });
  });

  test("a prompt in a conversation of Amp's old files", async () => {
    useRecording("amp/plain");
    const [found] = (await sessions.discover({})).conversations;
    expect(found?.readOnly).toContain("can be read, but not continued");
    const { sessionId: session } = await sessions.adopt({
      agent: "amp",
      nativeSessionId: found?.nativeSessionId ?? "",
      fork: false,
    });
    await expect(sessions.prompt(id(session), { text: "Go on." })).rejects.toMatchObject({ code: "not_supported" });
  });

  test("conversations that are not there, agents without files, and files that hold none", async () => {
    useRecording("claude/two-turns");
    const adopt = (agent: string, nativeSessionId: string) => sessions.adopt({ agent, nativeSessionId, fork: false });
    await expect(adopt("claude", "../../etc/passwd")).rejects.toMatchObject({ code: "conversation_not_found" });
    await expect(adopt("mock", "x")).rejects.toMatchObject({ code: "unsupported_agent" });
    await expect(sessions.discover({ agent: "nobody" })).rejects.toMatchObject({ code: "unsupported_agent" });
    const whole = readFileSync(claudeFile(), "utf8");
    writeFileSync(claudeFile(), whole.replaceAll('"cwd":"/workspace"', '"cwd":"workspace"'));
    await expect(adopt("claude", CLAUDE)).rejects.toMatchObject({
      code: "conversation_unreadable",
      message: expect.stringContaining("does not say in which folder"),
    });
    expect((await sessions.list()).sessions).toEqual([]);
  });

  test("the recorded mode, and the trust of a folder that nobody trusted", async () => {
    await sessions.close();
    sessions = await open(data, { adapters, trustedFolders: [] });
    useRecording("claude/two-turns");
    expect(readFileSync(claudeFile(), "utf8")).toContain("bypassPermissions");
    const { sessionId: session } = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
    expect(await sessions.get(id(session))).toMatchObject({ permissionMode: "default", trusted: false });
    expect(JSON.stringify(await eventsOf(session))).not.toContain("bypass");
  });
});

test("times that no date has: the conversation is listed and adopted all the same", async () => {
  useRecording("opencode/not-migrated");
  const files = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".json"));
  for (const file of files.map((path) => join(home, path))) {
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(/\b1[0-9]{12}\b/g, "9e15"));
  }
  const { conversations, problems } = await sessions.discover({ agent: "opencode" });
  expect(problems).toEqual([]);
  const [found] = conversations;
  expect(found?.updatedAt).toBe("1970-01-01T00:00:00.000Z");
  const { sessionId: adopted } = await sessions.adopt({
    agent: "opencode",
    nativeSessionId: found?.nativeSessionId ?? "",
    fork: false,
  });
  expect(lint(universal, await eventsOf(adopted))).toEqual([]);
});

test("a title with escapes and bidirectional marks is shown without them", async () => {
  useRecording("claude/two-turns");
  const title = "\u001b[2J\u202eevil\u0007 title\nsecond line";
  appendFileSync(claudeFile(), `${JSON.stringify({ type: "custom-title", customTitle: title, sessionId: CLAUDE })}\n`);
  const [found] = (await sessions.discover({})).conversations;
  expect(found?.title).toBe("[2Jevil title second line");
  const { sessionId: session } = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
  expect((await sessions.get(id(session))).title).toBe("[2Jevil title second line");
});

describe("a rollout of Codex that was compressed", () => {
  const compress: unknown = Reflect.get(zlib, "zstdCompressSync");

  /** The rollout in the place of the plain one, and its thread. */
  function compressed(pack: (bytes: Buffer) => Uint8Array): string {
    useRecording("codex/plain");
    const sessionsFolder = join(home, ".codex", "sessions");
    const names = readdirSync(sessionsFolder, { recursive: true, encoding: "utf8" });
    const name = names.find((one) => one.endsWith(".jsonl")) ?? "";
    const file = join(sessionsFolder, name);
    writeFileSync(`${file}.zst`, pack(readFileSync(file)));
    rmSync(file);
    return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl$)/.exec(name)?.[0] ?? "";
  }

  test.runIf(typeof compress === "function")("is read like one that was not", async () => {
    const plain = sessionFileRecordings.find(({ name }) => name === "codex/plain");
    const nativeSessionId = compressed((bytes) => (typeof compress === "function" ? compress(bytes) : bytes));
    const { conversations } = await sessions.discover({ agent: "codex" });
    expect(conversations).toMatchObject([{ nativeSessionId }]);
    const adopted = await sessions.adopt({ agent: "codex", nativeSessionId, fork: false });
    expect(adopted).toMatchObject({ outcome: "adopted", turns: 1, notes: [] });
    expect(JSON.stringify(await eventsOf(adopted.sessionId))).toContain(
      plain?.about.sessions[0]?.turns[0]?.texts[0] ?? "no text was recorded",
    );
  });

  test.runIf(typeof compress !== "function")("needs a newer Node, which is one sentence", async () => {
    const nativeSessionId = compressed((bytes) => bytes);
    await expect(sessions.adopt({ agent: "codex", nativeSessionId, fork: false })).rejects.toMatchObject({
      code: "conversation_unreadable",
      message: expect.stringMatching(/is compressed: Node 22\.15 or later is needed to read it\.$/),
    });
  });

  test.runIf(typeof compress === "function")("and is damaged is one sentence too", async () => {
    const nativeSessionId = compressed((bytes) => bytes.subarray(7));
    await expect(sessions.adopt({ agent: "codex", nativeSessionId, fork: false })).rejects.toMatchObject({
      code: "conversation_unreadable",
      message: expect.stringContaining("is damaged"),
    });
  });
});

test("what is imported is a copy: it stays when the agent deletes its files", async () => {
  useRecording("claude/two-turns");
  const adopted = await sessions.adopt({ agent: "claude", nativeSessionId: CLAUDE, fork: false });
  const events = await eventsOf(adopted.sessionId);
  rmSync(claudeFile());
  expect(await eventsOf(adopted.sessionId)).toEqual(events);
});

/** Agents' own folders are read as if a stranger had filled them: nothing leads out, blocks, or grows without bound. */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filesOf } from "../../src/adapters/session-files.ts";
import type { FoundConversation, SessionFileProblem } from "../../src/core/session-files.ts";
import { openDatabase } from "../../src/runtime/log/sqlite/database.ts";
import { type OpenFolder, openAgentFolder } from "../../src/runtime/session-files/folder.ts";

const ID = "5e551011-0000-4000-8000-000000000001";
const SECRET = "what lies outside";

let top: string;
let root: string;
let folder: OpenFolder;

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "franca-attack-"));
  root = join(top, "agent");
  mkdirSync(join(root, "projects", "-app"), { recursive: true });
  mkdirSync(join(top, "outside"));
  writeFileSync(join(top, "outside", `${ID}.jsonl`), record(SECRET));
  folder = opened(root);
});

afterEach(() => {
  folder.close();
  rmSync(top, { recursive: true, force: true });
});

function opened(path: string): OpenFolder {
  const open = openAgentFolder(path);
  if (open === null) throw new Error(`${path} could not be opened.`);
  return open;
}

const record = (text: string, more: object = {}): string =>
  `${JSON.stringify({ type: "user", uuid: "u1", parentUuid: null, cwd: "/app", message: { content: text }, ...more })}\n`;

function found(agent: string): (FoundConversation | SessionFileProblem)[] {
  return [...(filesOf(agent)?.files.discover(folder) ?? [])];
}

const path = (name: string): string => join(root, "projects", "-app", name);

describe("links", () => {
  test("a file that is a link is neither listed nor read", () => {
    symlinkSync(join(top, "outside", `${ID}.jsonl`), path(`${ID}.jsonl`));
    expect(found("claude")).toEqual([]);
    expect(folder.text(`projects/-app/${ID}.jsonl`)).toBeNull();
    expect(folder.head(`projects/-app/${ID}.jsonl`, 100)).toBeNull();
    expect(folder.facts(`projects/-app/${ID}.jsonl`)).toBeNull();
  });

  test("a folder that is a link is neither listed nor entered", () => {
    symlinkSync(join(top, "outside"), join(root, "projects", "-link"));
    expect(found("claude")).toEqual([]);
    expect(folder.text(`projects/-link/${ID}.jsonl`)).toBeNull();
  });

  test("a database whose log is a link is not opened", () => {
    const database = openDatabase(join(root, "opencode.db"));
    database.exec("CREATE TABLE session (id)");
    database.close();
    symlinkSync(join(top, "outside", `${ID}.jsonl`), join(root, "opencode.db-wal"));
    expect(folder.rows("opencode.db", "SELECT id FROM session")).toBeNull();
  });
});

describe("paths", () => {
  test.each(["../outside/x", "projects/../../outside/x", "/etc/passwd", "projects//x", "projects/-app/\0", "..", ""])(
    "%j leads nowhere",
    (written) => {
      expect(folder.text(written)).toBeNull();
      expect(folder.facts(written)).toBeNull();
    },
  );

  test("an id with separators names no session of OpenCode, no lock of Codex, and no note of Claude Code", () => {
    mkdirSync(join(root, "storage"));
    for (const nativeId of ["../../outside", "a/b", "..", "' OR 1=1 --"]) {
      expect(() => filesOf("opencode")?.files.read(folder, { path: "opencode.db", nativeId })).toThrow("no session");
      expect(filesOf("codex")?.files.userOf?.(folder, nativeId)).toBeNull();
      expect(filesOf("claude")?.files.userOf?.(folder, nativeId)).toBeNull();
    }
  });
});

describe("files", () => {
  test("a pipe does not block", () => {
    execFileSync("mkfifo", [path(`${ID}.jsonl`)]);
    expect(found("claude")).toEqual([]);
    expect(folder.text(`projects/-app/${ID}.jsonl`)).toBeNull();
  });

  test.runIf(process.getuid?.() === 0)("a file of another user is left alone", () => {
    writeFileSync(path(`${ID}.jsonl`), record(SECRET));
    chownSync(path(`${ID}.jsonl`), 12_345, 12_345);
    expect(found("claude")).toEqual([]);
    expect(folder.text(`projects/-app/${ID}.jsonl`)).toBeNull();
    chownSync(root, 12_345, 12_345);
    expect(openAgentFolder(root)).toBeNull();
  });

  test("a file without end is listed from its first and last bytes, and refused when it is to be read", () => {
    writeFileSync(path(`${ID}.jsonl`), record("Hello"));
    truncateSync(path(`${ID}.jsonl`), 10 * 1024 ** 3);
    expect(found("claude")).toMatchObject([{ nativeId: ID, title: "Hello", size: 10 * 1024 ** 3 }]);
    expect(() => folder.text(`projects/-app/${ID}.jsonl`)).toThrow("is larger than 256 MiB");
  });

  test("a line that is nested too deeply is one sentence; the rest is read", () => {
    const deep = `{"type":"user","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n`;
    writeFileSync(path(`${ID}.jsonl`), `${record("Hello")}${deep}not json\n{"half": `);
    const conversation = filesOf("claude")?.files.read(folder, { path: `projects/-app/${ID}.jsonl`, nativeId: null });
    expect(conversation?.unread).toEqual(["Line 2 is nested too deeply.", "Line 3 is not JSON."]);
    expect(conversation?.turns).toHaveLength(1);
  });

  test("records that are each other's parents do not hang", () => {
    const loop = record("A", { uuid: "a", parentUuid: "b" }) + record("B", { uuid: "b", parentUuid: "a" });
    writeFileSync(path(`${ID}.jsonl`), loop);
    const conversation = filesOf("claude")?.files.read(folder, { path: `projects/-app/${ID}.jsonl`, nativeId: null });
    expect(conversation?.turns.length).toBeLessThanOrEqual(2);
  });

  test("a rollout that continues itself for ever is refused in a sentence", () => {
    const thread = "01a1e306-d391-7411-842b-f662066b8505";
    mkdirSync(join(root, "archived_sessions"));
    const names = ["00", "01"].map((second) => `rollout-2026-11-16T06-23-${second}-${thread}.jsonl`);
    for (const name of names) {
      const payload = { id: thread, cwd: "/app", history_base: { thread_id: thread, end_ordinal_exclusive: 9 } };
      writeFileSync(join(root, "archived_sessions", name), `${JSON.stringify({ type: "session_meta", payload })}\n`);
    }
    const read = () => filesOf("codex")?.files.read(folder, { path: `archived_sessions/${names[1]}`, nativeId: null });
    expect(read).toThrow("whose file is not there");
  });
});

describe("files of Gemini CLI and Qwen Code", () => {
  const SLUG = "tmp/app/chats";
  const QWEN = "projects/-app/chats";
  const write = (place: string, content: string): void => {
    mkdirSync(join(root, place, ".."), { recursive: true });
    writeFileSync(join(root, place), content);
  };
  const lines = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");
  const header = { sessionId: ID, projectHash: "x", kind: "main" };
  const prompt = { id: "m1", type: "user", content: [{ text: "Hello" }] };
  const asked = { type: "user", uuid: "u1", parentUuid: null, sessionId: ID, message: { parts: [{ text: "Hello" }] } };

  test("what is damaged or foreign is a sentence, or nothing; the rest is listed and read", () => {
    write(`${SLUG}/session-a.jsonl`, lines(header, prompt, { id: 1 }, { $set: { messages: [7, null, {}] } }, prompt));
    write(`${SLUG}/session-b.jsonl`, "no line of it\n");
    write(`${SLUG}/session-c.json`, `{"sessionId": "${ID}", "messages": ${"[".repeat(100_000)}`);
    write(`${SLUG}/session-d.jsonl`, lines({ ...header, kind: "subagent" }, prompt));
    write(`${SLUG}/notes.txt`, "Hello");
    symlinkSync(join(top, "outside", `${ID}.jsonl`), join(root, SLUG, "session-e.jsonl"));
    write("projects.json", JSON.stringify({ projects: { "/app": "app", "/other": 7 } }));
    expect(found("gemini")).toMatchObject([
      { nativeId: ID, title: "Hello", directory: "/app", path: `${SLUG}/session-a.jsonl` },
      { problem: expect.stringContaining("session-b.jsonl is damaged") },
      { problem: expect.stringContaining("session-c.json is damaged") },
    ]);
    const read = (name: string) => filesOf("gemini")?.files.read(folder, { path: `${SLUG}/${name}`, nativeId: null });
    expect(read("session-a.jsonl")).toMatchObject({ unread: ["Line 3 is no record that we know."], abandoned: 0 });
    for (const name of ["session-b.jsonl", "session-c.json", "session-e.jsonl", "../../../outside/x"]) {
      expect(() => read(name)).toThrow(/no session of Gemini CLI|There is no file/);
    }
  });

  test("records that are each other's parents do not hang, and odd ones are sentences", () => {
    const loop = { ...asked, uuid: "u2", parentUuid: "u3" };
    const odd = { ...asked, uuid: "u3", parentUuid: "u2", message: { parts: [1, { functionCall: 5 }] } };
    write(`${QWEN}/${ID}.jsonl`, lines({ ...asked, cwd: "/app" }, { type: "other" }, loop, odd));
    write(`${QWEN}/${ID.replace("5e", "6e")}.jsonl`, lines({ type: "system", uuid: "s", cwd: "/app" }));
    expect(found("qwen")).toMatchObject([{ nativeId: ID, title: "Hello", directory: "/app" }]);
    const conversation = filesOf("qwen")?.files.read(folder, { path: `${QWEN}/${ID}.jsonl`, nativeId: null });
    expect(conversation?.unread).toEqual(["Line 2 is no record that we know."]);
    expect(conversation?.abandoned).toBe(1);
  });
});

test("nothing is written beside a database, whether its program runs or has ended", () => {
  const file = join(root, "opencode.db");
  const database = openDatabase(file);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE session (id); INSERT INTO session VALUES ('ses_1')");
  const look = (): readonly string[] => readdirSync(root).map((name) => `${name} ${statSync(join(root, name)).size}`);
  const running = look();
  expect(folder.rows("opencode.db", "SELECT id FROM session")).toEqual([{ id: "ses_1" }]);
  expect(look()).toEqual(running);
  folder.close();
  database.close();
  const ended = look();
  expect(folder.rows("opencode.db", "SELECT id FROM session")).toEqual([{ id: "ses_1" }]);
  expect(folder.rows("opencode.db", "DELETE FROM session")).toBeNull();
  folder.close();
  expect(look()).toEqual(ended);
});

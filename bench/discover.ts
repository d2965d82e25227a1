/** The list of conversations in agents' own files, beside a program that reads the same bytes and does nothing more. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agentFiles } from "../src/adapters/session-files.ts";
import { openDatabase } from "../src/runtime/log/sqlite/database.ts";
import { conversationsOf } from "../src/runtime/session/discover.ts";
import { atMost, inTurns, type Measurement, median, ms, type Result, times, whole } from "./measure.ts";

const CONVERSATIONS = 3_000;
const FOLDERS = 30;
/** The rest of a conversation, of which a list reads the end at most. */
const REST_BYTES = 64 * 1024;
/** What the reader beside it reads of each file. */
const HEAD_BYTES = 16 * 1024;

const line = (value: object): string => `${JSON.stringify(value)}\n`;
const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const text = (number: number): string => `Prompt ${number}: tidy the project, and say what you have changed.`;

interface Written {
  readonly path: string;
  readonly content: string;
}

interface Home {
  readonly agent: string;
  readonly what: string;
  readonly file?: (number: number) => Written;
  readonly index?: (home: string) => void;
}

const repeated = (record: object): string => line(record).repeat(Math.ceil(REST_BYTES / line(record).length));

const claudeRest = repeated({
  type: "assistant",
  uuid: uuid(1),
  parentUuid: uuid(0),
  message: { id: "m", role: "assistant", content: [{ type: "text", text: "Done. ".repeat(100) }] },
});

function claudeFile(number: number): Written {
  const first = { type: "user", uuid: uuid(0), parentUuid: null, cwd: `/projects/${number % FOLDERS}` };
  return {
    path: `.claude/projects/-work-${number % FOLDERS}/${uuid(number)}.jsonl`,
    content: line({ ...first, message: { role: "user", content: text(number) } }) + claudeRest,
  };
}

const instructions = "You are a coding agent. ".repeat(900);
const codexRest = repeated({ type: "event_msg", payload: { type: "agent_message", message: "Done. ".repeat(100) } });

function codexFile(number: number): Written {
  const meta = { id: uuid(number), cwd: `/projects/${number % FOLDERS}`, instructions };
  const day = String((number % 28) + 1).padStart(2, "0");
  return {
    path: `.codex/sessions/2026/11/${day}/rollout-2026-11-${day}T06-00-00-${uuid(number)}.jsonl`,
    content:
      line({ type: "session_meta", payload: meta }) +
      line({ type: "event_msg", payload: { type: "user_message", message: text(number) } }) +
      codexRest,
  };
}

function codexIndex(home: string): void {
  const database = openDatabase(join(home, ".codex", "state_5.sqlite"));
  database.exec("CREATE TABLE threads (id, cwd, title, name, source, updated_at_ms); BEGIN");
  const insert = database.prepare("INSERT INTO threads VALUES (?, ?, ?, '', 'cli', 0)");
  for (let number = 0; number < CONVERSATIONS; number += 1) insert.run(uuid(number), "/work", text(number));
  database.exec("COMMIT");
  database.close();
}

const geminiRest = repeated({ id: uuid(1), type: "gemini", content: "Done. ".repeat(100) });

function geminiFile(number: number): Written {
  const context = { id: "c", type: "user", content: [{ text: `<session_context>${"\n├───file.ts".repeat(200)}` }] };
  return {
    path: `.gemini/tmp/project-${number % FOLDERS}/chats/session-2026-11-16T06-54-${number}.jsonl`,
    content:
      line({ sessionId: uuid(number), projectHash: "x", kind: "main" }) +
      line({ $set: { messages: [context] } }) +
      line({ id: uuid(0), type: "user", content: [{ text: text(number) }] }) +
      geminiRest,
  };
}

const qwenRest = repeated({
  type: "assistant",
  uuid: uuid(1),
  parentUuid: uuid(0),
  message: { role: "model", parts: [{ text: "Done. ".repeat(100) }] },
});

function qwenFile(number: number): Written {
  const first = { type: "user", uuid: uuid(0), parentUuid: null, sessionId: uuid(number), cwd: "/work" };
  return {
    path: `.qwen/projects/-work-${number % FOLDERS}/chats/${uuid(number)}.jsonl`,
    content: line({ ...first, message: { role: "user", parts: [{ text: text(number) }] } }) + qwenRest,
  };
}

const homes: readonly Home[] = [
  { agent: "claude", what: "Claude Code", file: claudeFile },
  { agent: "codex", what: "Codex, without its index", file: codexFile },
  { agent: "codex", what: "Codex", file: codexFile, index: codexIndex },
  { agent: "gemini", what: "Gemini CLI", file: geminiFile },
  { agent: "qwen", what: "Qwen Code", file: qwenFile },
];

async function listed(agent: string): Promise<number> {
  const source = agentFiles.find(({ adapter }) => adapter.agent === agent);
  if (source === undefined) throw new Error(`No files of ${agent} are known.`);
  const startedAt = performance.now();
  let count = 0;
  for await (const found of conversationsOf(source)) if ("nativeId" in found && found.title !== null) count += 1;
  const taken = performance.now() - startedAt;
  if (count !== CONVERSATIONS) throw new Error(`${agent}: ${count} of ${CONVERSATIONS} conversations were found`);
  return taken;
}

/** Names, sizes and first bytes of every file. */
function readPlainly(folder: string): number {
  const startedAt = performance.now();
  const buffer = Buffer.alloc(HEAD_BYTES);
  const look = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const below = join(path, entry.name);
      if (entry.isDirectory()) {
        look(below);
        continue;
      }
      statSync(below);
      const handle = openSync(below, "r");
      readSync(handle, buffer, 0, HEAD_BYTES, 0);
      closeSync(handle);
    }
  };
  look(folder);
  return performance.now() - startedAt;
}

async function measure({ agent, what, file, index }: Home, rounds: number): Promise<Result> {
  const home = mkdtempSync(join(tmpdir(), "franca-bench-"));
  const before = process.env.HOME;
  try {
    for (let number = 0; number < CONVERSATIONS && file !== undefined; number += 1) {
      const { path, content } = file(number);
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content);
    }
    index?.(home);
    process.env.HOME = home;
    const taken = await inTurns(rounds, [() => listed(agent), () => readPlainly(home)]);
    const ours = median(taken.ours);
    return {
      what: `list ${whole(CONVERSATIONS)} conversations of ${what}, beside reading their first bytes`,
      measured: `${ms(ours)}, ${times(ours / median(taken.theirs))}`,
      target: atMost(ours, 1_000, " ms"),
    };
  } finally {
    process.env.HOME = before;
    rmSync(home, { recursive: true, force: true });
  }
}

export const discovering: Measurement = {
  name: "discover",
  quick: true,
  async run({ quick }) {
    const rows: Result[] = [];
    for (const home of homes) rows.push(await measure(home, quick ? 5 : 11));
    return rows;
  },
};

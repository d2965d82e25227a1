/**
 * Everything that reads what others wrote, given what nobody would write: it answers or refuses in a sentence. Guards,
 * adapters, file formats and settings are found by themselves, so that a new one is fuzzed without being named here.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { agentFiles } from "../../src/adapters/session-files.ts";
import { loadSettings } from "../../src/cli/config.ts";
import { UsageError } from "../../src/cli/usage.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import { type AgentFolder, SessionFileError } from "../../src/core/session-files.ts";
import { readRecorded } from "../../src/dialects/recording.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { parseLine } from "../../src/runtime/agent/connection/parse-line.ts";
import { splitLines } from "../../src/runtime/agent/lines.ts";
import { parseLine as parseGuardLine } from "../../src/runtime/guard/lines.ts";
import { openCodec } from "../../src/runtime/log/codec/codec.ts";
import { openParser } from "../../src/sdk/sse.ts";
import { lint, universal } from "../../src/server/rules.ts";
import { encodeEvents } from "../support/entries.ts";
import { temporaryFolder } from "../support/folders.ts";
import { root } from "../support/transcripts.ts";
import { anyLine, bounds, damaged, odd, recordedLines } from "./values.ts";

type Guard = (value: unknown) => unknown;
const isGuard = (name: string, value: unknown): value is Guard =>
  /^is[A-Z]/.test(name) && typeof value === "function" && value.length === 1;

/** Checks that are made of others (`isListOf(isString)`) give a function: it is no answer about a line. */
const makers = ["isOneOf", "isListOf", "isMapOf"];

const guards = await findGuards();

async function findGuards(): Promise<{ readonly name: string; readonly guard: Guard }[]> {
  const folder = join(root, "src", "dialects");
  const modules: object[] = await Promise.all(readdirSync(folder).map((file) => import(join(folder, file))));
  const all = new Map<string, unknown>(modules.flatMap((module) => Object.entries(module)));
  return [...all].flatMap(([name, guard]) => (isGuard(name, guard) && !makers.includes(name) ? [{ name, guard }] : []));
}

describe("guards of dialects", () => {
  test("are found, one for each agent at least", () => {
    expect(guards.length).toBeGreaterThan(adapters.length);
    expect(guards.map(({ name }) => name)).toContain("isMockLine");
  });

  test.each(guards)("$name says yes or no", ({ name, guard }) => {
    // Two are asked about a line that another has let through; a line it does not know is nothing to them.
    const given = name === "isBuiltinHeard" ? fc.constantFrom(...recordedLines).filter(isObject) : anyLine;
    fc.assert(
      fc.property(given, (value) => {
        expect(typeof guard(value)).toBe("boolean");
      }),
      bounds,
    );
  });
});

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

describe("adapters", () => {
  test.each(adapters)("$agent: whatever comes, a session goes on and its events keep the rules", (adapter) => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 12 }), (lines) => {
        const session = openSession({ sessionId: sessionId("s"), adapter, policy: defaultPolicy });
        let at = 1_000;
        const events: UniversalEvent[] = [];
        const step = (input: Parameters<typeof session.step>[0]) => events.push(...session.step(input).events);
        for (const line of lines) {
          at += 1;
          // As the pipe gives them: what JSON cannot say does not come.
          const text = JSON.stringify(line);
          if (text !== undefined) step({ type: "line", from: "agent", line: JSON.parse(text), at });
        }
        step({ type: "disconnected", exit: { code: 0, signal: null }, at: at + 1 });
        const broken = lint(universal, events).filter(({ rule }) => rule !== "universal.unparsed");
        expect(broken).toEqual([]);
      }),
      bounds,
    );
  });
});

describe("texts and bytes", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json(),
    anyLine.map((line) => JSON.stringify(line) ?? ""),
  );

  test("a line of an agent, of a recording or of the guard is read, or is not one", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(["line", "unreadable"]).toContain(parseLine(text).type);
        readRecordedLine(text);
        parseGuardLine(text);
      }),
      bounds,
    );
  });

  test("the splitter gives out no more than it was given", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), fc.integer({ min: 1, max: 100 }), (chunks, limit) => {
        let out = 0;
        const splitter = splitLines({
          onLine: (line) => (out += line.length),
          onOverlong: ({ excerpt }) => (out += excerpt.length),
          limit,
        });
        for (const chunk of chunks) splitter.push(Buffer.from(chunk));
        splitter.end();
        expect(out).toBeLessThanOrEqual(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
      }),
      bounds,
    );
  });

  test("the parser of server-sent events gives out no more than it was given", () => {
    const field = fc.constantFrom("data: ", "id:", "event: x", ":", "\n", "\n\n", "\r\n", "\r", "data", "retry: 1\n");
    fc.assert(
      fc.property(fc.array(fc.oneof(field, fc.string({ unit: "binary", maxLength: 8 }))), (pieces) => {
        const parse = openParser();
        const out = pieces.flatMap((piece) => parse(piece));
        const given = pieces.join("").length;
        expect(out.reduce((sum, { data, id }) => sum + (data?.length ?? 0) + (id?.length ?? 0), 0)).toBeLessThanOrEqual(
          given,
        );
      }),
      bounds,
    );
  });

  test("a stored group with damaged bytes is read or refused with an error, and does not grow", () => {
    const { bytes } = encodeEvents({ id: sessionId("s"), first: 1, last: 40 });
    const codec = openCodec();
    fc.assert(
      fc.property(damaged(Buffer.from(bytes)), (broken) => {
        const group = codec.stored({ session: sessionId("s"), position: 1, first: 1, last: 40, bytes: broken });
        for (const read of [() => group.events(), () => group.notable(), () => [group.time()], () => [group.size]]) {
          expect(orError(read).length).toBeLessThanOrEqual(broken.length + 1);
        }
        orError(() => [group.sse("sequence")]);
        orError(() => [...codec.decodeNative(broken)]);
      }),
      bounds,
    );
  });
});

/** A recording that is none is refused with an error of ours or of JSON. */
function readRecordedLine(text: string): void {
  try {
    readRecorded(text);
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(TypeError);
  }
}

function orError(read: () => readonly unknown[]): readonly unknown[] {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return [];
  }
}

describe("agents' own session files", () => {
  /** A folder in which every path is a file with the same content, and every folder has a few of each kind. */
  const files = ["a.jsonl", "b.json", "state.db", "T-1.json"].map((name) => ({ name, kind: "file" }) as const);
  const folders = ["projects", "sessions", "threads", "chats"].map((name) => ({ name, kind: "folder" }) as const);
  const folderOf = (content: string): AgentFolder => ({
    list: (path) => (path.split("/").length > 3 ? files : [...files, ...folders]),
    facts: () => ({ size: content.length, modifiedAt: 1_000 }),
    head: (_path, bytes) => content.slice(0, bytes),
    tail: (_path, bytes) => content.slice(-bytes),
    text: () => content,
    rows: () => [{ id: content.slice(0, 20), data: content, time_updated: 1, directory: null, title: 7 }],
    isAlive: () => false,
    lockHolder: () => null,
  });
  const content = fc.oneof(
    fc.array(anyLine, { maxLength: 6 }).map((lines) => lines.map((line) => JSON.stringify(line)).join("\n")),
    anyLine.map((line) => JSON.stringify(line) ?? ""),
    fc.string({ unit: "binary" }),
  );

  test.each(agentFiles)("$files.form: listed and read, or refused in a sentence", ({ files: reader }) => {
    fc.assert(
      fc.property(content, (text) => {
        const folder = folderOf(text);
        let seen = 0;
        for (const _found of reader.discover(folder)) if (++seen > 50) break;
        for (const path of [`${reader.tops[0]}/x/a.jsonl`, `${reader.tops[0]}/b.json`]) {
          try {
            reader.read(folder, { path, nativeId: null });
          } catch (error) {
            expect(error).toBeInstanceOf(SessionFileError);
          }
        }
      }),
      bounds,
    );
  });
});

test("a config file is taken, or refused in words that name it", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "franca.config.json");
  const names = ["port", "token", "store", "budgets", "webhooks", "plugins", "builtin", "telemetry", "trustedFolders"];
  const settings = fc.oneof(fc.dictionary(fc.constantFrom(...names, "__proto__", "other"), odd), odd);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        settings.map((value) => JSON.stringify(value) ?? ""),
        fc.string(),
      ),
      async (text) => {
        writeFileSync(file, text);
        try {
          await loadSettings({ flags: { config: file }, env: { HOME: folder } });
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          expect(String(error)).toContain("franca.config.json");
        }
      },
    ),
    bounds,
  );
});

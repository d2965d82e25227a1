/** Bytes and texts: guards, the splitter of lines, server-sent events, stored groups, native lines and config files. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSettings } from "../../../src/cli/config.ts";
import { UsageError } from "../../../src/cli/usage.ts";
import { cutLine, type LineTemplate, matchLine, spanOf } from "../../../src/core/line-template.ts";
import { recordedFrom } from "../../../src/dialects/recording.ts";
import { sessionId } from "../../../src/protocol/ids.ts";
import { parseLine } from "../../../src/runtime/agent/connection/parse-line.ts";
import { splitLines } from "../../../src/runtime/agent/lines.ts";
import { parseLine as parseGuardLine } from "../../../src/runtime/guard/lines.ts";
import { openCodec } from "../../../src/runtime/log/codec/codec.ts";
import { newScratch, openLineWriter } from "../../../src/runtime/log/codec/line-writer.ts";
import { decodeNative, openNativeEncoder } from "../../../src/runtime/log/codec/native.ts";
import { openParser } from "../../../src/sdk/sse.ts";
import { encodeEntry } from "../../support/entries.ts";
import type { Target } from "./attempt.ts";
import { dialects } from "./guards.ts";
import { recordedStreams } from "./recordings.ts";

const bytes = (...texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text));

function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** In pieces: the first byte says how long each is, the second where a line is too long. */
function* piecesOf(input: Buffer): Generator<Buffer> {
  const size = Math.max(1, input[0] ?? 1);
  for (let at = 2; at < input.length; at += size) yield input.subarray(at, at + size);
}

const splitter = (): Target => ({
  name: "lines",
  watches: (path) => path.startsWith("src/runtime/agent/"),
  form: "bytes",
  batch: 128,
  seeds: () =>
    bytes("\x05\x20one\ntwo\n\nthree", '\xff\x7f{"a":1}\n{"b":"\u2028"}\r\n', `\x09\x08${"x".repeat(40)}\ny`),
  run: {
    kind: "sync",
    once(input) {
      const budget = { limit: 96, held: 0 };
      let given = 0;
      let last = 0;
      const splitter = splitLines({
        onLine(line, number) {
          expectThat(number > last, "lines are numbered in order");
          expectThat(!line.includes("\n"), "a line has no end of line in it");
          last = number;
          given += Buffer.byteLength(line);
          parseLine(line);
          parseGuardLine(line);
        },
        onOverlong: ({ excerpt }) => (given += excerpt.length),
        limit: Math.max(1, input[1] ?? 1),
        budget,
      });
      for (const piece of piecesOf(input)) splitter.push(piece);
      splitter.end();
      expectThat(budget.held === 0, `after the end ${budget.held} bytes are held`);
      // What is no UTF-8 is replaced: three bytes for one.
      expectThat(given <= input.length * 3, "more is given out than came in");
    },
  },
});

const sse = (): Target => ({
  name: "sse",
  watches: (path) => path.startsWith("src/sdk/sse"),
  form: "bytes",
  batch: 128,
  seeds: () =>
    bytes(
      "\x05\x00id: 1\ndata: {}\n\n",
      "\x01\x00: hello\r\nevent: x\r\ndata:a\r\ndata: b\r\n\r\n",
      "\x40\x00retry: 1\n\nid:\n\n",
    ),
  run: {
    kind: "sync",
    once(input) {
      const text = input.subarray(2).toString("utf8");
      const inPieces = openParser();
      const size = Math.max(1, input[0] ?? 1);
      const events = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        inPieces(text.slice(at * size, (at + 1) * size)),
      ).flat();
      expectThat(JSON.stringify(events) === JSON.stringify(openParser()(text)), "pieces give the same as the whole");
    },
  },
});

const entry = encodeEntry({ id: sessionId("s"), first: 1, last: 6 });

/** An error is a refusal; a range or a type that nobody looked at is none. */
function orRefused(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error(`thrown: ${String(error)}`);
  }
}

const group = (): Target => ({
  name: "group",
  watches: (path) => path.startsWith("src/runtime/log/codec/"),
  form: "lines",
  batch: 32,
  seeds: () => [Buffer.from(entry.events?.bytes ?? "")],
  run: {
    kind: "sync",
    once(input) {
      const stored = openCodec().stored({ session: sessionId("s"), position: 1, first: 1, last: 6, bytes: input });
      for (const read of [stored.events, stored.notable, stored.time, () => stored.size]) orRefused(read);
      for (const cursor of ["sequence", "position"] as const) orRefused(() => stored.sse(cursor));
    },
  },
});

const native = (): Target => ({
  name: "native",
  watches: (path) => path.startsWith("src/runtime/log/codec/"),
  form: "lines",
  batch: 32,
  seeds: () => [Buffer.from(entry.native?.bytes ?? "")],
  run: { kind: "sync", once: (input) => orRefused(() => openCodec().decodeNative(input)) },
});

/** As a session writes them: a line like the one before is packed as its values alone. */
const packing = (): Target => ({
  name: "packing",
  watches: (path) => path.startsWith("src/runtime/log/codec/") || path.startsWith("src/core/line-template"),
  form: "lines",
  batch: 16,
  seeds: () => [
    ...bytes(
      '{"type":"delta","text":"Hel","n":1}\n{"type":"delta","text":"lo","n":2}\n{"type":"delta","text":"!","n":3}',
    ),
    ...recordedStreams("codex").slice(0, 6),
  ],
  run: {
    kind: "sync",
    once(input) {
      const texts = input.toString("utf8").split("\n").filter(isLine);
      const lines = openLineWriter(newScratch());
      const encoder = openNativeEncoder(lines);
      let template: LineTemplate | null = null;
      for (const [index, source] of texts.entries()) {
        const [line, at, from] = [index + 1, index * 7, index % 9 === 8 ? "host" : "agent"] as const;
        const cuts: number[] = [];
        if (template !== null && matchLine(template, spanOf(source), cuts) !== null) {
          encoder.repeat({ line, readAt: at, native: { ...spanOf(source), template, cuts } });
        } else {
          encoder.add({ line, at, from, text: source });
          template = from === "host" ? null : (cutLine(source, ["text", "n"]) ?? cutLine(source, ["text"]));
        }
      }
      const read = texts.length === 0 ? [] : decodeNative(lines.finish());
      const said = JSON.stringify(read.map((one) => one.native));
      expectThat(said === JSON.stringify(texts.map((text): unknown => JSON.parse(text))), `read back as ${said}`);
    },
  },
});

/** One that the connection would hand on: lines are stored as they were written. */
const isLine = (text: string): boolean => text.trim() !== "" && parseLine(text).type === "line";

const config = (): Target => {
  const folder = mkdtempSync(join(tmpdir(), "franca-fuzz-"));
  const file = join(folder, "franca.config.json");
  return {
    name: "config",
    watches: (path) =>
      path.startsWith("src/cli/") || path.startsWith("src/builtin/config") || path.startsWith("src/protocol/"),
    form: "lines",
    batch: 16,
    seeds: () =>
      bytes(
        '{"port":7717,"token":"t","store":"memory","corsAllowOrigin":["https://a.example"],"passEnv":["A"],"keepDays":3,"maxDisk":"2GB"}',
        '{"budgets":{"prompt":{"tokens":10},"day":{"usd":1.5}},"webhooks":{"a":{"url":"https://a.example/x","events":["turn.ended"]}}}',
        '{"plugins":["./a.js",["b",{"x":1}]],"telemetry":{"endpoint":"https://a.example"},"trustedFolders":["/a"],"finishTodos":true}',
        '{"builtin":{"model":"anthropic/x","providers":{"x":{"api":"openai","baseURL":"https://a.example","models":{"m":{}}}}}}',
      ),
    run: {
      kind: "async",
      async once(input) {
        writeFileSync(file, input);
        try {
          await loadSettings({ flags: { config: file }, env: { HOME: folder } });
        } catch (error) {
          if (!(error instanceof UsageError) || !error.message.includes("franca.config.json")) throw error;
        }
      },
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
};

const guards = (): Target => ({
  name: "guards",
  watches: (path) => path.startsWith("src/dialects/"),
  form: "lines",
  batch: 16,
  seeds: () => dialects.flatMap(({ agent }) => recordedStreams(agent).slice(0, 8)),
  run: {
    kind: "sync",
    once(input) {
      for (const text of input.toString("utf8").split("\n")) {
        const parsed = parseLine(text);
        const recorded = parsed.type === "line" ? recordedFrom(parsed.value) : null;
        if (recorded?.type !== "line") continue;
        for (const { name, guard } of dialects.flatMap((one) => one.guards)) {
          expectThat(typeof guard(recorded.line) === "boolean", `${name} says yes or no`);
        }
      }
    },
  },
});

export const textTargets = { lines: splitter, sse, group, native, packing, config, guards } as const;

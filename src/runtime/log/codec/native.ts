/**
 * Native lines as they are stored. The first of a group is whole; each line after it is stored as the difference: who
 * wrote it, how many milliseconds later, how many letters it shares with the start of the line before, and the rest.
 * Where lines differ only in a few values, a template says where these were in the line before (start and end of each),
 * and each line that follows is its values, with tabs between them, which no JSON has in a value.
 *
 *     {"line":3,"time":"…","from":"agent","native":{"type":"delta","text":"Hel"}}
 *     a12,24,lo"}
 *     ~24,26
 *     =0,!
 */
import { type LineSpan, type LineTemplate, matchLine, spanOf, textOf } from "../../../core/line-template.ts";
import type { RepeatedDelta } from "../../../core/repeat.ts";
import type { NativeLine } from "../../../protocol/resources.ts";
import type { NativeText } from "../contract.ts";
import { asBuffer } from "./decode.ts";
import type { LineWriter } from "./line-writer.ts";

const LETTERS = { agent: "a", host: "h", process: "p" } as const;
const AUTHORS: Readonly<Record<string, NativeLine["from"]>> = { a: "agent", h: "host", p: "process" };
const NATIVE = ',"native":';
const TEMPLATE = "~";
const VALUES = "=";
const EQUALS = VALUES.charCodeAt(0);
const SEPARATOR = "\t";
const TAB = 0x09;
const COMMA = 0x2c;

export interface NativeEncoder {
  /** A group begins, with a whole line. */
  readonly begin: () => void;
  readonly add: (native: NativeText) => void;
  readonly repeat: (repeated: Pick<RepeatedDelta, "line" | "readAt" | "native">) => void;
}

/** The line before; its text is cut out of its source only where it is needed. */
interface Last {
  line: number;
  at: number;
  from: NativeText["from"];
  source: string;
  start: number;
  end: number;
}

const NOTHING = spanOf("");

export function openNativeEncoder(lines: LineWriter): NativeEncoder {
  /** No line is before the first: one with the number 0 is in no log. */
  const last: Last = { line: 0, at: 0, from: "process", source: "", start: 0, end: 0 };
  /** The shared start of the last line that had one: the next line mostly begins with it too. */
  let shared = "";
  /** The template that was written last, as long as every line fits it. */
  let template: LineTemplate | null = null;
  const follows = (line: number, at: number): boolean => last.line > 0 && line === last.line + 1 && at >= last.at;

  const add = ({ line, at, from, text }: NativeText): void => {
    template = null;
    if (!follows(line, at)) {
      lines.text(`{"line":${line},"time":"${new Date(at).toISOString()}","from":"${from}"${NATIVE}${text}}`);
      shared = "";
    } else {
      if (shared === "" || text.slice(0, shared.length) !== shared) shared = sharedStart(textOf(last), text);
      lines.text(`${LETTERS[from]}${at - last.at},${shared.length},`);
      lines.text(text.slice(shared.length));
    }
    lines.endLine();
    last.from = from;
    note(last, { line, at }, spanOf(text));
  };

  return {
    begin() {
      note(last, { line: 0, at: 0 }, NOTHING);
      shared = "";
      template = null;
    },
    add,
    repeat({ line, readAt: at, native }) {
      const fits = follows(line, at) && last.from === "agent";
      if (!fits) return add({ line, at, from: "agent", text: textOf(native) });
      if (template !== native.template) {
        const cuts: number[] = [];
        // The line before may not fit the template itself.
        if (matchLine(native.template, last, cuts) === null) {
          return add({ line, at, from: "agent", text: textOf(native) });
        }
        lines.text(`${TEMPLATE}${cuts.map((cut) => cut - last.start).join()}`);
        lines.endLine();
        template = native.template;
      }
      lines.character(EQUALS);
      lines.integer(at - last.at);
      for (let index = 0; index < native.cuts.length; index += 2) {
        lines.character(index === 0 ? COMMA : TAB);
        lines.copy(native.source, native.cuts[index] ?? 0, native.cuts[index + 1] ?? 0);
      }
      lines.endLine();
      note(last, { line, at }, native);
      shared = "";
    },
  };
}

function note(last: Last, { line, at }: Pick<Last, "line" | "at">, { source, start, end }: LineSpan): void {
  last.line = line;
  last.at = at;
  last.source = source;
  last.start = start;
  last.end = end;
}

/** By halves: comparing long pieces at once is quicker than letter by letter. Never half of a character. */
function sharedStart(one: string, other: string): string {
  let low = 0;
  let high = Math.min(one.length, other.length);
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (other.startsWith(one.slice(low, middle), low)) low = middle;
    else high = middle - 1;
  }
  return one.slice(0, isHighSurrogate(one.charCodeAt(low - 1)) ? low - 1 : low);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** What we stored ourselves is not checked again. */
export function decodeNative(bytes: Uint8Array): NativeLine[] {
  const natives: NativeLine[] = [];
  let text = "";
  let time = 0;
  let number = 0;
  let fixed: readonly string[] = [];
  for (const line of asBuffer(bytes).toString("utf8").split("\n")) {
    if (line === "") continue;
    if (line.startsWith("{")) {
      const whole: NativeLine = JSON.parse(line);
      natives.push(whole);
      text = line.slice(line.indexOf(NATIVE) + NATIVE.length, -1);
      time = Date.parse(whole.time);
      number = whole.line;
      continue;
    }
    if (line.startsWith(TEMPLATE)) {
      fixed = piecesOf(text, line.slice(TEMPLATE.length).split(",").map(Number));
      continue;
    }
    if (line.startsWith(VALUES)) {
      const comma = line.indexOf(",");
      text = fill(fixed, line.slice(comma + 1).split(SEPARATOR));
      time += Number(line.slice(VALUES.length, comma));
    } else {
      const [head = "", ms, shared] = /^.(\d+),(\d+),/.exec(line) ?? [];
      text = text.slice(0, Number(shared)) + line.slice(head.length);
      time += Number(ms);
    }
    number += 1;
    const from = AUTHORS[line[0] ?? ""] ?? "agent";
    natives.push({ line: number, time: new Date(time).toISOString(), from, native: JSON.parse(text) });
  }
  return natives;
}

/** What stands before, between and behind the cuts. */
function piecesOf(text: string, cuts: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (let index = 0; index < cuts.length; index += 2) {
    pieces.push(text.slice(at, cuts[index]));
    at = cuts[index + 1] ?? text.length;
  }
  return [...pieces, text.slice(at)];
}

const fill = (fixed: readonly string[], values: readonly string[]): string =>
  fixed.map((piece, index) => piece + (values[index] ?? "")).join("");

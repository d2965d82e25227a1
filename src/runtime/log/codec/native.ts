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
const SEPARATOR = "\t";
const TAB = 0x09;
const COMMA = 0x2c;

export interface NativeEncoder {
  readonly add: (native: NativeText) => void;
  readonly repeat: (repeated: Pick<RepeatedDelta, "line" | "readAt" | "native">) => void;
}

export function openNativeEncoder(lines: LineWriter): NativeEncoder {
  /** The line before; its text is cut out of its source only where it is needed. */
  let last: {
    readonly line: number;
    readonly at: number;
    readonly from: NativeText["from"];
    readonly span: LineSpan;
  } | null = null;
  /** The shared start of the last line that had one: the next line mostly begins with it too. */
  let start = "";
  /** The template that was written last, as long as every line fits it. */
  let template: LineTemplate | null = null;

  const add = ({ line, at, from, text }: NativeText): void => {
    template = null;
    if (last === null || line !== last.line + 1 || at < last.at) {
      lines.text(`{"line":${line},"time":"${new Date(at).toISOString()}","from":"${from}"${NATIVE}${text}}`);
      start = "";
    } else {
      if (start === "" || text.slice(0, start.length) !== start) start = sharedStart(textOf(last.span), text);
      lines.text(`${LETTERS[from]}${at - last.at},${start.length},`);
      lines.text(text.slice(start.length));
    }
    lines.endLine();
    last = { line, at, from, span: spanOf(text) };
  };

  return {
    add,
    repeat({ line, readAt: at, native }) {
      const follows = last !== null && line === last.line + 1 && at >= last.at && last.from === "agent";
      const cuts =
        last === null || !follows ? null : template === native.template ? [] : cutsOf(native.template, last.span);
      if (last === null || cuts === null) return add({ line, at, from: "agent", text: textOf(native) });
      if (cuts.length > 0) {
        lines.text(`${TEMPLATE}${cuts.join()}`);
        lines.endLine();
        template = native.template;
      }
      lines.character(VALUES.charCodeAt(0));
      lines.integer(at - last.at);
      for (let index = 0; index < native.cuts.length; index += 2) {
        lines.character(index === 0 ? COMMA : TAB);
        lines.copy(native.source, native.cuts[index] ?? 0, native.cuts[index + 1] ?? 0);
      }
      lines.endLine();
      last = { line, at, from: "agent", span: native };
      start = "";
    },
  };
}

/** Where the values are in the line before; null when it does not fit the template itself. */
function cutsOf(template: LineTemplate, span: LineSpan): readonly number[] | null {
  return matchLine(template, span)?.cuts.map((cut) => cut - span.start) ?? null;
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

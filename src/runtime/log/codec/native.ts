/**
 * Native lines as they are stored. The first of a group is whole; each line after it is stored as the difference: who
 * wrote it, how many milliseconds later, how many letters it shares with the start of the line before, and the rest.
 *
 *     {"line":3,"time":"…","from":"agent","native":{"type":"delta","text":"Hel"}}
 *     a12,24,lo"}
 */
import type { NativeLine } from "../../../protocol/resources.ts";
import type { NativeText } from "../contract.ts";
import { asBuffer } from "./decode.ts";
import type { LineWriter } from "./line-writer.ts";

const LETTERS = { agent: "a", host: "h", process: "p" } as const;
const AUTHORS: Readonly<Record<string, NativeLine["from"]>> = { a: "agent", h: "host", p: "process" };
const NATIVE = ',"native":';

export function openNativeEncoder(lines: LineWriter): (native: NativeText) => void {
  let last: NativeText | null = null;
  /** The shared start of the last line that had one: the next line mostly begins with it too. */
  let start = "";
  return (native) => {
    const { line, at, from, text } = native;
    if (last === null || line !== last.line + 1 || at < last.at) {
      lines.text(`{"line":${line},"time":"${new Date(at).toISOString()}","from":"${from}"${NATIVE}${text}}`);
      start = "";
    } else {
      if (start === "" || text.slice(0, start.length) !== start) start = sharedStart(last.text, text);
      lines.text(`${LETTERS[from]}${at - last.at},${start.length},`);
      lines.text(text.slice(start.length));
    }
    lines.endLine();
    last = native;
  };
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
    const [head = "", ms, shared] = /^.(\d+),(\d+),/.exec(line) ?? [];
    text = text.slice(0, Number(shared)) + line.slice(head.length);
    time += Number(ms);
    number += 1;
    const from = AUTHORS[line[0] ?? ""] ?? "agent";
    natives.push({ line: number, time: new Date(time).toISOString(), from, native: JSON.parse(text) });
  }
  return natives;
}

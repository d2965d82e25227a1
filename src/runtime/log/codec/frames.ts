/** Stored events (encode.ts says how they are stored) as server-sent events: bytes to bytes, without values between. */
import { assert } from "../../../core/fold.ts";
import { timeText } from "../../../core/time-text.ts";
import type { EventOf } from "../../../protocol/events.ts";
import { asBuffer } from "./decode.ts";
import { copyOut, newScratch, reserve, type Scratch, writeBytes, writeInteger } from "./line-writer.ts";

/** Frame `i` begins at byte `starts[i]`; the last start is the length. */
export interface Frames {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

/** The `id:` of a frame: a fixed text, then a number that grows by one with each event. */
export interface FrameId {
  readonly text: string;
  readonly first: number;
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const SLASH = 0x2f;
const ZERO = 0x30;
const BRACE = 0x7b;
/** Texts up to this length are copied byte by byte: a call costs more. */
const SHORT = 48;
/** Two sequences and a line, of sixteen digits each. */
const NUMBERS = 48;
const DATA = Buffer.from("\ndata: ");
/** What stands around an event's JSON at most, with the number of its id. */
const FRAME_BYTES = DATA.length + 32;

/** Memory that is used again for each group. */
export interface FrameScratch extends Scratch {
  starts: Uint32Array;
}

/** As many frames as a group of a flood has. */
const FIRST_STARTS = 1_024;

export const newFrameScratch = (): FrameScratch => ({ ...newScratch(), starts: new Uint32Array(FIRST_STARTS) });

export function encodeFrames(bytes: Uint8Array, { id, scratch }: { id: FrameId; scratch: FrameScratch }): Frames {
  const source = asBuffer(bytes);
  const head = Buffer.from(`id: ${id.text}`);
  const around = head.length + FRAME_BYTES;
  // One for all deltas.
  const step: Step = { ms: 0, lines: 0, text: 0, end: 0 };
  let index = 0;
  let at = 0;
  let whole = { start: 0, end: 0 };
  let template: Template | null = null;
  for (let start = 0; start < source.length; index += 1) {
    const value = id.first + index;
    noteStart(scratch, index, at);
    if (source[start] === BRACE) {
      const end = source.indexOf(NEWLINE, start);
      reserve(scratch, { at, length: end - start + around });
      at = writeHead(scratch.buffer, { at, head, value });
      at += source.copy(scratch.buffer, at, start, end);
      whole = { start, end };
      template = null;
      start = end + 1;
    } else {
      template ??= templateOf(source.toString("utf8", whole.start, whole.end));
      readStep(step, source, start);
      advance(template, step);
      reserve(scratch, { at, length: step.end - step.text + template.size + around });
      at = writeHead(scratch.buffer, { at, head, value });
      at = writeDelta({ buffer: scratch.buffer, at, source, step, template });
      start = step.end + 1;
    }
    scratch.buffer[at++] = NEWLINE;
    scratch.buffer[at++] = NEWLINE;
  }
  noteStart(scratch, index, at);
  return { bytes: copyOut(scratch, at), starts: scratch.starts.slice(0, index + 1) };
}

function noteStart(scratch: FrameScratch, index: number, at: number): void {
  if (index === scratch.starts.length) {
    const longer = new Uint32Array(2 * index);
    longer.set(scratch.starts);
    scratch.starts = longer;
  }
  scratch.starts[index] = at;
}

/** The JSON of a delta, cut where it changes from one delta to the next. */
interface Template {
  sequence: number;
  line: number;
  time: number;
  /** Up to the number in the event's id. */
  readonly start: Buffer;
  /** From there to the sequence. */
  readonly afterId: Buffer;
  /** From the sequence to the text; the time in it is replaced when it changes. */
  readonly middle: Buffer;
  readonly timeAt: number;
  /** From the text to the native line. */
  readonly afterText: Buffer;
  readonly end: Buffer;
  readonly size: number;
}

/** Cut out of the JSON itself: the order of all other fields is whatever it is there. */
function templateOf(json: string): Template {
  const event: EventOf<"item.delta"> = JSON.parse(json);
  const { sequence, time, cause } = event;
  const id = spanOf(json, { key: "event_id", value: event.event_id });
  const number = spanOf(json, { key: "sequence", value: sequence });
  const text = spanOf(json, { key: "delta", value: event.data.delta });
  const line = spanOf(json, { key: "line", value: cause.line });
  const clock = spanOf(json, { key: "time", value: time });
  const idEnd = id.end - 1;
  const isInOrder =
    id.end < number.start && number.end < clock.start && clock.end < text.start && text.end < line.start;
  assert(isInOrder, "id, sequence, time, text and line of a delta stand in this order");
  const start = Buffer.from(json.slice(0, idEnd - String(sequence).length));
  const afterId = Buffer.from(json.slice(idEnd, number.start));
  const middle = Buffer.from(json.slice(number.end, text.start));
  const afterText = Buffer.from(json.slice(text.end, line.start));
  const end = Buffer.from(json.slice(line.end));
  const size = start.length + afterId.length + middle.length + afterText.length + end.length + NUMBERS;
  const timeAt = Buffer.byteLength(json.slice(number.end, clock.start)) + 1;
  const parts = { start, afterId, middle, timeAt, afterText, end, size };
  return { sequence, line: cause.line ?? 0, time: Date.parse(time), ...parts };
}

/** Quotes inside of texts are escaped, so a key is found only where it is one. */
function spanOf(json: string, { key, value }: { key: string; value: unknown }): { start: number; end: number } {
  const name = `"${key}":`;
  const start = json.indexOf(name) + name.length;
  return { start, end: start + JSON.stringify(value).length };
}

interface Step {
  ms: number;
  lines: number;
  /** Where the text begins, with its quote, and where the line ends. */
  text: number;
  end: number;
}

function readStep(step: Step, source: Buffer, start: number): void {
  let at = start;
  let ms = 0;
  let lines = 1;
  for (; isDigit(source[at]); at += 1) ms = ms * 10 + (source[at] ?? ZERO) - ZERO;
  if (source[at] === SLASH) {
    lines = 0;
    for (at += 1; isDigit(source[at]); at += 1) lines = lines * 10 + (source[at] ?? ZERO) - ZERO;
  }
  assert(source[at] === QUOTE, "what differs from an event ends in its text");
  let end = at;
  while (end - at < SHORT && source[end] !== NEWLINE) end += 1;
  if (source[end] !== NEWLINE) end = source.indexOf(NEWLINE, end);
  step.ms = ms;
  step.lines = lines;
  step.text = at;
  step.end = end;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte < ZERO + 10;

function advance(template: Template, { ms, lines }: Step): void {
  template.sequence += 1;
  template.line += lines;
  if (ms === 0) return;
  template.time += ms;
  template.middle.write(timeText(template.time), template.timeAt, "latin1");
}

function writeHead(buffer: Buffer, { at, head, value }: { at: number; head: Buffer; value: number }): number {
  return writeBytes(buffer, writeInteger(buffer, { at: writeBytes(buffer, at, head), value }), DATA);
}

interface DeltaParts {
  readonly buffer: Buffer;
  readonly at: number;
  readonly source: Buffer;
  readonly step: Step;
  readonly template: Template;
}

function writeDelta({ buffer, at: from, source, step, template }: DeltaParts): number {
  const { start, middle, afterText, sequence, line } = template;
  let at = writeInteger(buffer, { at: writeBytes(buffer, from, start), value: sequence });
  at = writeBytes(buffer, at, template.afterId);
  at = writeInteger(buffer, { at, value: sequence });
  at = writeBytes(buffer, at, middle);
  if (step.end - step.text > SHORT) at += source.copy(buffer, at, step.text, step.end);
  else for (let index = step.text; index < step.end; index += 1) buffer[at++] = source[index] ?? 0;
  at = writeInteger(buffer, { at: writeBytes(buffer, at, afterText), value: line });
  return writeBytes(buffer, at, template.end);
}

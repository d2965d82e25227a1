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
const NINE = 0x39;
const BRACE = 0x7b;
/** Texts up to this length are copied byte by byte: a call costs more. */
const SHORT = 48;
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
    noteStart(scratch, index, at);
    if (source[start] === BRACE) {
      const end = source.indexOf(NEWLINE, start);
      reserve(scratch, { at, length: end - start + around });
      at = writeInteger(scratch.buffer, { at: writeBytes(scratch.buffer, at, head), value: id.first + index });
      at = writeBytes(scratch.buffer, at, DATA);
      at += source.copy(scratch.buffer, at, start, end);
      scratch.buffer[at++] = NEWLINE;
      scratch.buffer[at++] = NEWLINE;
      whole = { start, end };
      template = null;
      start = end + 1;
    } else {
      template ??= templateOf(source.toString("utf8", whole.start, whole.end), { head, value: id.first + index - 1 });
      readStep(step, source, start);
      advance(template, step);
      reserve(scratch, { at, length: template.before.length + step.end - step.text + template.behind.length });
      at = writeBytes(scratch.buffer, at, template.before);
      if (step.end - step.text > SHORT) at += source.copy(scratch.buffer, at, step.text, step.end);
      else for (let place = step.text; place < step.end; place += 1) scratch.buffer[at++] = source[place] ?? 0;
      at = writeBytes(scratch.buffer, at, template.behind);
      start = step.end + 1;
    }
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

/**
 * The frame of a delta before and behind its text. From one delta to the next only the last digits of a few numbers
 * change, in their place; the rest is copied as it is.
 */
interface Template {
  before: Buffer;
  behind: Buffer;
  /** The numbers of the frame that is in both. */
  id: number;
  sequence: number;
  line: number;
  time: number;
  /** Places behind the last digit of the frame's id, of the number in the event's id, and of the sequence. */
  idEnd: number;
  eventEnd: number;
  sequenceEnd: number;
  timeAt: number;
  /** In what stands behind the text. */
  lineEnd: number;
  readonly parts: Parts;
}

/** What stands between the numbers and the text. */
interface Parts {
  readonly head: Buffer;
  /** Up to the number in the event's id. */
  readonly start: Buffer;
  readonly afterId: Buffer;
  /** From the sequence to the text. */
  readonly middle: Buffer;
  /** Where the time is in it. */
  readonly timeAt: number;
  /** From the text to the native line. */
  readonly afterText: Buffer;
  readonly end: Buffer;
}

/** Cut out of the JSON itself: the order of all other fields is whatever it is there. */
function templateOf(json: string, { head, value }: { head: Buffer; value: number }): Template {
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
  const parts: Parts = {
    head,
    start: Buffer.from(json.slice(0, idEnd - String(sequence).length)),
    afterId: Buffer.from(json.slice(idEnd, number.start)),
    middle: Buffer.from(json.slice(number.end, text.start)),
    timeAt: Buffer.byteLength(json.slice(number.end, clock.start)) + 1,
    afterText: Buffer.from(json.slice(text.end, line.start)),
    end: Buffer.from(`${json.slice(line.end)}\n\n`),
  };
  const places = { idEnd: 0, eventEnd: 0, sequenceEnd: 0, timeAt: 0, lineEnd: 0 };
  const numbers = { id: value, sequence, line: cause.line ?? 0, time: Date.parse(time) };
  // Both pieces are made with the first delta.
  return { before: head, behind: head, ...numbers, ...places, parts };
}

/** Makes a piece anew, by the numbers. */
function fillBefore(template: Template): void {
  const { head, start, afterId, middle, timeAt } = template.parts;
  const sequence = Buffer.from(String(template.sequence));
  const id = Buffer.from(String(template.id));
  template.before = Buffer.concat([head, id, DATA, start, sequence, afterId, sequence, middle]);
  template.idEnd = head.length + id.length;
  template.eventEnd = template.idEnd + DATA.length + start.length + sequence.length;
  template.sequenceEnd = template.eventEnd + afterId.length + sequence.length;
  template.timeAt = template.sequenceEnd + timeAt;
  writeTime(template);
}

function fillBehind(template: Template): void {
  const { afterText, end } = template.parts;
  const line = Buffer.from(String(template.line));
  template.behind = Buffer.concat([afterText, line, end]);
  template.lineEnd = afterText.length + line.length;
}

/** Adds one to the number that ends before this place. False when it needs another digit, or there is none yet. */
function increment(bytes: Buffer, end: number): boolean {
  let at = end - 1;
  for (; bytes[at] === NINE; at -= 1) bytes[at] = ZERO;
  const digit = bytes[at] ?? 0;
  if (digit < ZERO || digit > NINE) return false;
  bytes[at] = digit + 1;
  return true;
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

/** To the next delta. */
function advance(template: Template, { ms, lines }: Step): void {
  const { before, behind } = template;
  template.id += 1;
  template.sequence += 1;
  template.line += lines;
  template.time += ms;
  const isInPlace =
    increment(before, template.idEnd) &&
    increment(before, template.eventEnd) &&
    increment(before, template.sequenceEnd);
  if (!isInPlace) fillBefore(template);
  else if (ms > 0) writeTime(template);
  if (lines !== 1 || !increment(behind, template.lineEnd)) fillBehind(template);
}

const writeTime = ({ before, time, timeAt }: Template): void => void before.write(timeText(time), timeAt, "latin1");

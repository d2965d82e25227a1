/** Packed events made whole again (log/packing.ts says how they are packed): as bytes for readers, or as values. */
import { assert } from "../../../core/fold.ts";
import type { EventOf, UniversalEvent } from "../../../protocol/events.ts";
import { eventId } from "../../../protocol/ids.ts";
import { copyOut, grow, makeRoom, putInteger } from "./lines-writer.ts";

/** Event `i` begins at byte `starts[i]`; the last start is the length. */
export interface Told {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

/** Puts down what stands before an event's JSON, and gives the place behind it. Takes at most `FRAME_BYTES`. */
export type PutFrame = (bytes: Buffer, place: { readonly at: number; readonly index: number }) => number;

export const FRAME_BYTES = 64;

type Delta = EventOf<"item.delta">;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const SLASH = 0x2f;
const ZERO = 0x30;
const BRACE = 0x7b;
/** Texts up to this length are copied byte by byte: a call costs more. */
const SHORT = 48;
/** Two sequences and a line, of sixteen digits each. */
const NUMBERS = 48;

// Only one is told at a time.
const room = makeRoom();

/** As JSON lines; with a frame before each event and an empty line after it, where one is given. */
export function tell(packed: Uint8Array, frame: PutFrame | null = null): Told {
  const source = asBuffer(packed);
  const starts: number[] = [];
  let at = 0;
  let whole = { start: 0, end: 0 };
  let alike: Alike | null = null;
  for (let start = 0; start < source.length; ) {
    const index = starts.length;
    starts.push(at);
    if (source[start] === BRACE) {
      const end = source.indexOf(NEWLINE, start);
      reserve(at, end - start + FRAME_BYTES);
      if (frame !== null) at = frame(room.buffer, { at, index });
      at += source.copy(room.buffer, at, start, end);
      whole = { start, end };
      alike = null;
      start = end + 1;
    } else {
      alike ??= likeWhole(source, whole);
      const step = readStep(source, start);
      advance(alike, step);
      reserve(at, step.end - step.text + alike.size + FRAME_BYTES);
      if (frame !== null) at = frame(room.buffer, { at, index });
      at = putDelta(at, { source, step, alike });
      start = step.end + 1;
    }
    room.buffer[at++] = NEWLINE;
    if (frame !== null) room.buffer[at++] = NEWLINE;
  }
  starts.push(at);
  return { bytes: copyOut(room, at), starts };
}

/** As values. What we stored ourselves is trusted: it is not checked again. */
export function parsePacked(packed: Uint8Array): UniversalEvent[] {
  const events: UniversalEvent[] = [];
  let last: Delta | null = null;
  for (const line of asBuffer(packed).toString("utf8").split("\n")) {
    if (line === "") continue;
    if (line.startsWith("{")) {
      const event: UniversalEvent = JSON.parse(line);
      events.push(event);
      last = event.type === "item.delta" ? event : null;
    } else {
      assert(last !== null, "what differs from an event follows it");
      last = nextDelta(last, line);
      events.push(last);
    }
  }
  return events;
}

/** Field by field, in the order that all events have: spreading would cost more than all the rest. */
function nextDelta(last: Delta, text: string): Delta {
  const quote = text.indexOf('"');
  const slash = quote === 0 ? -1 : text.lastIndexOf("/", quote);
  const ms = quote === 0 ? 0 : Number(text.slice(0, slash < 0 ? quote : slash));
  const lines = slash < 0 ? 1 : Number(text.slice(slash + 1, quote));
  const sequence = last.sequence + 1;
  const { item_id, native_item_id, part } = last.data;
  return {
    event_id: eventId(last.session_id, sequence),
    sequence,
    time: ms === 0 ? last.time : new Date(Date.parse(last.time) + ms).toISOString(),
    session_id: last.session_id,
    native_session_id: last.native_session_id,
    turn_id: last.turn_id,
    source: last.source,
    synthetic: last.synthetic,
    type: last.type,
    data: { item_id, native_item_id, delta: literal(text.slice(quote)), part },
    raw: last.raw,
    cause: { line: (last.cause.line ?? 0) + lines },
    v: last.v,
  };
}

/** Most texts have nothing to unescape. */
const literal = (json: string): string => (json.includes("\\") ? JSON.parse(json) : json.slice(1, -1));

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function reserve(at: number, length: number): void {
  if (at + length > room.buffer.length) grow(room, { needed: at + length, used: at });
}

/** All of a delta but its number, its text and its native line, as bytes. */
interface Alike {
  sequence: number;
  line: number;
  time: number;
  readonly head: Buffer;
  /** Begins with the time, which is the only thing in it that changes. */
  readonly middle: Buffer;
  readonly tail: Buffer;
  readonly size: number;
}

const SEQUENCE = Buffer.from('","sequence":');
const TIME = ',"time":"';
const END = Buffer.from('},"v":1}');

function likeWhole(source: Buffer, { start, end }: { start: number; end: number }): Alike {
  const event: Delta = JSON.parse(source.toString("utf8", start, end));
  const { data } = event;
  const id = JSON.stringify(event.session_id);
  const head = Buffer.from(`{"event_id":${id.slice(0, -1)}:`);
  const middle = Buffer.from(
    `${TIME}${event.time}","session_id":${id},"native_session_id":${JSON.stringify(event.native_session_id)},` +
      `"turn_id":${JSON.stringify(event.turn_id)},"source":"${event.source}","synthetic":${event.synthetic},` +
      `"type":"item.delta","data":{"item_id":${JSON.stringify(data.item_id)},` +
      `"native_item_id":${JSON.stringify(data.native_item_id)},"delta":`,
  );
  const tail = Buffer.from(`,"part":"${data.part}"},"raw":null,"cause":{"line":`);
  const size = head.length + SEQUENCE.length + middle.length + tail.length + END.length + NUMBERS;
  const { sequence, cause } = event;
  return { sequence, line: cause.line ?? 0, time: Date.parse(event.time), head, middle, tail, size };
}

interface Step {
  readonly ms: number;
  readonly lines: number;
  /** Where the text begins, with its quote, and where the line ends. */
  readonly text: number;
  readonly end: number;
}

function readStep(source: Buffer, start: number): Step {
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
  return { ms, lines, text: at, end };
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte < ZERO + 10;

function advance(alike: Alike, { ms, lines }: Step): void {
  alike.sequence += 1;
  alike.line += lines;
  if (ms === 0) return;
  alike.time += ms;
  alike.middle.write(new Date(alike.time).toISOString(), TIME.length, "latin1");
}

function putDelta(start: number, { source, step, alike }: { source: Buffer; step: Step; alike: Alike }): number {
  const { buffer } = room;
  const { head, middle, tail, sequence, line } = alike;
  let at = start;
  buffer.set(head, at);
  at = putInteger(buffer, { at: at + head.length, value: sequence });
  at = putShort(buffer, at, SEQUENCE);
  at = putInteger(buffer, { at, value: sequence });
  buffer.set(middle, at);
  at += middle.length;
  if (step.end - step.text > SHORT) at += source.copy(buffer, at, step.text, step.end);
  else for (let from = step.text; from < step.end; from += 1) buffer[at++] = source[from] ?? 0;
  buffer.set(tail, at);
  at = putInteger(buffer, { at: at + tail.length, value: line });
  return putShort(buffer, at, END);
}

function putShort(buffer: Buffer, start: number, bytes: Buffer): number {
  let at = start;
  for (let from = 0; from < bytes.length; from += 1) buffer[at++] = bytes[from] ?? 0;
  return at;
}

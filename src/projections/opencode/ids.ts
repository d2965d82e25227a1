/** OpenCode's sortable ids, made from the log alone: the same log gives the same ids, after every restart. */
import { codesOf, hashBase62, hashHex, hashPair, writeBase62, writeHex } from "../../core/hash.ts";

export type IdPrefix = "msg" | "prt" | "evt" | "per" | "que";

/** The latest time an id was made for, and how many were made in that millisecond. */
export interface Clock {
  ms: number;
  count: number;
}

export const startClock = (): Clock => ({ ms: 0, count: 0 });

/** OpenCode keeps the low 48 bits of milliseconds × 4096 + counter, as 12 hexadecimal characters. */
const COUNT_LIMIT = 0x1000;
const MS_LIMIT = 2 ** 36;
const STAMP_DIGITS = 12;
const REST_LENGTH = 14;

/** Later ids sort after earlier ones, also when many events share a millisecond or the clock stands still. */
export function nextId(clock: Clock, { ms, seed }: { ms: number; seed: readonly [IdPrefix, ...string[]] }): string {
  tick(clock, ms);
  const codes = blanks[seed[0]];
  writeStamp(codes, clock);
  writeBase62(codes, { from: STAMP_AT + STAMP_DIGITS, parts: seed });
  return String.fromCharCode(...codes);
}

const STAMP_AT = "evt_".length;
const blank = (prefix: IdPrefix): number[] => codesOf(`${prefix}_${"0".repeat(STAMP_DIGITS + REST_LENGTH)}`);

/** The character codes of an id, written over for each: an id is made for every event, and read only once. */
const blanks: Readonly<Record<IdPrefix, number[]>> = {
  msg: blank("msg"),
  prt: blank("prt"),
  evt: blank("evt"),
  per: blank("per"),
  que: blank("que"),
};

/** A client made this id with its own clock: whatever we make next must sort after it. */
export function follow(clock: Clock, id: string): void {
  const digits = /^[a-z]+_([0-9a-f]{12})/.exec(id)?.[1];
  if (digits === undefined) return;
  const value = Number.parseInt(digits, 16);
  const ms = Math.floor(value / COUNT_LIMIT);
  const here = clock.ms % MS_LIMIT;
  // The stamp wraps around every two years: only a small lead is a clock that runs ahead of ours.
  if (ms < here || ms - here > MAX_LEAD_MS) return;
  if (ms === here) {
    clock.count = Math.max(clock.count, value % COUNT_LIMIT);
    return;
  }
  clock.ms += ms - here;
  clock.count = value % COUNT_LIMIT;
}

const MAX_LEAD_MS = 86_400_000;

function tick(clock: Clock, ms: number): void {
  if (ms > clock.ms) {
    clock.ms = ms;
    clock.count = 1;
    return;
  }
  clock.count += 1;
  if (clock.count < COUNT_LIMIT) return;
  clock.ms += 1;
  clock.count = 0;
}

/** Printing 48 bits by `toString(16)` takes longer than all the rest of an id. */
function writeStamp(codes: number[], { ms, count }: Clock): void {
  const low = ms % MS_LIMIT;
  const half = STAMP_AT + STAMP_DIGITS / 2;
  writeHex(codes, { from: STAMP_AT, to: half, value: Math.floor(low / COUNT_LIMIT) });
  writeHex(codes, { from: half, to: STAMP_AT + STAMP_DIGITS, value: (low % COUNT_LIMIT) * COUNT_LIMIT + count });
}

/**
 * A session's id on the OpenCode surface. It must be known before the first event is read, so it comes from our own id
 * alone; one that has OpenCode's form already is kept.
 */
export function openCodeSessionId(sessionId: string): string {
  if (/^ses_[0-9A-Za-z]+$/.test(sessionId)) return sessionId;
  return `ses_${hashHex(`ses:${sessionId}`).slice(0, STAMP_DIGITS)}${hashBase62(`ses:${sessionId}`, REST_LENGTH)}`;
}

/** Directories are projects here; OpenCode calls the project of no repository `global`. */
export const projectId = (directory: string): string => hashHex(`project:${directory}`);

const slugWords = [
  "quiet",
  "brisk",
  "calm",
  "clear",
  "early",
  "fair",
  "keen",
  "light",
  "plain",
  "still",
  "swift",
  "warm",
];
const slugNouns = [
  "brook",
  "cedar",
  "field",
  "harbor",
  "hill",
  "lake",
  "meadow",
  "moss",
  "pine",
  "reef",
  "stone",
  "wind",
];

/** Two readable words for a session, always the same for it. */
export function slugOf(id: string): string {
  const [high, low] = hashPair(id);
  const word = slugWords[high % slugWords.length] ?? "quiet";
  const noun = slugNouns[low % slugNouns.length] ?? "brook";
  return `${word}-${noun}`;
}

/**
 * Times as events have them. Events come many to a second, and printing or parsing a whole date takes longer than all
 * else that is done for most of them: the latest second is remembered, and only the digits that change are made.
 */
import { codesOf } from "./hash.ts";

const SECOND = 1_000;
const ZERO = 48;
const EPOCH = "1970-01-01T00:00:00.000Z";
/** Where the milliseconds stand in a time whose year has four digits. */
const MS_AT = EPOCH.length - "000Z".length;

/** The last moment whose year has four digits: events have no later times. */
export const LAST_TIME = 253_402_300_799_999;

/** Whether an event can have this time; what others have written may be any number. */
export const isTime = (at: number | null): at is number => at !== null && at >= 0 && at <= LAST_TIME;

const printed = { second: 0, codes: codesOf(EPOCH) };

/** As `toISOString` prints it. */
export function timeText(at: number): string {
  const second = Math.floor(at / SECOND);
  if (second !== printed.second) {
    const text = new Date(at).toISOString();
    if (text.length !== EPOCH.length) return text;
    printed.second = second;
    printed.codes = codesOf(text);
    return text;
  }
  const { codes } = printed;
  const whole = Math.trunc(at);
  const ms = whole - second * SECOND;
  codes[MS_AT] = ZERO + Math.trunc(ms / 100);
  codes[MS_AT + 1] = ZERO + (Math.trunc(ms / 10) % 10);
  codes[MS_AT + 2] = ZERO + (ms % 10);
  const text = String.fromCharCode(...codes);
  // A projection reads an event's time right after it was printed.
  read.text = text;
  read.ms = whole;
  return text;
}

const read = { text: "", ms: 0, second: 0, head: "" };

/** As `Date.parse` reads it. */
export function timeOf(text: string): number {
  if (text === read.text) return read.ms;
  const head = text.slice(0, MS_AT);
  const ms = head === read.head && text.length === EPOCH.length ? read.second + msIn(text) : Date.parse(text);
  if (!Number.isFinite(ms)) return Date.parse(text);
  read.text = text;
  read.ms = ms;
  if (text.length !== EPOCH.length || head === read.head) return ms;
  read.head = head;
  read.second = ms - msIn(text);
  return ms;
}

/** Not a number where there are other characters than digits, or another zone than UTC. */
function msIn(text: string): number {
  const [hundreds, tens, ones] = [digit(text, MS_AT), digit(text, MS_AT + 1), digit(text, MS_AT + 2)];
  return text.endsWith("Z") ? hundreds * 100 + tens * 10 + ones : Number.NaN;
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

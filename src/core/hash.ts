/**
 * A small, fast hash for pure code: ids that come from the log alone, and fingerprints of unreadable lines. Not for
 * secrets.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SECOND_SEED = 0x9e3779b9;
const COLON = 58;
const HEX_LENGTH = 16;
const HEX = codesOf("0123456789abcdef");
const BASE62 = codesOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/** 64 bits as 16 hexadecimal characters. */
export function hashHex(text: string): string {
  const [high, low] = hashWords([text]);
  const codes = new Array<number>(HEX_LENGTH).fill(0);
  writeHex(codes, { from: 0, to: HEX_LENGTH / 2, value: high });
  writeHex(codes, { from: HEX_LENGTH / 2, to: HEX_LENGTH, value: low });
  return String.fromCharCode(...codes);
}

/** The same 64 bits as two numbers. */
export function hashPair(text: string): readonly [number, number] {
  const [high, low] = hashWords([text]);
  return [high >>> 0, low >>> 0];
}

/** Any number of base62 characters: the hash seeds a generator, so that longer ids stay evenly spread. */
export function hashBase62(text: string, length: number): string {
  const codes = new Array<number>(length).fill(0);
  writeBase62(codes, { from: 0, parts: [text] });
  return String.fromCharCode(...codes);
}

/**
 * The same, of parts with a colon between them (the first is never empty), as character codes up to the end of the
 * list: ids are many, and joining short texts takes longer than all the rest.
 */
export function writeBase62(
  codes: number[],
  { from, parts }: { readonly from: number; readonly parts: readonly string[] },
): void {
  // A literal: the remainder by a number that is read from elsewhere takes three times as long as all the rest.
  const letters = 62;
  let [high, low] = hashWords(parts);
  for (let index = from; index < codes.length; index += 1) {
    // One round of xorshift over the pair.
    const mixed = high ^ (high << 11);
    high = low;
    low = low ^ (low >>> 19) ^ mixed ^ (mixed >>> 8);
    codes[index] = BASE62[((high + low) >>> 0) % letters] ?? 0;
  }
}

/** The low digits of a number, as character codes. */
export function writeHex(
  codes: number[],
  { from, to, value }: { readonly from: number; readonly to: number; readonly value: number },
): void {
  let rest = value;
  for (let index = to - 1; index >= from; index -= 1) {
    codes[index] = HEX[rest & 15] ?? 0;
    rest >>>= 4;
  }
}

/** The character codes of a text, one per UTF-16 unit. */
export function codesOf(text: string): number[] {
  const codes: number[] = [];
  for (let index = 0; index < text.length; index += 1) codes.push(text.charCodeAt(index));
  return codes;
}

/** Two FNV-1a passes over the UTF-16 units with different seeds, each finished so that near texts end far apart. */
function hashWords(parts: readonly string[]): [number, number] {
  let first = FNV_OFFSET | 0;
  let second = FNV_OFFSET ^ SECOND_SEED;
  let place = 0;
  for (const part of parts) {
    if (place > 0) {
      first = Math.imul(first ^ COLON, FNV_PRIME);
      second = Math.imul(second ^ (COLON + place), FNV_PRIME);
      place += 1;
    }
    for (let index = 0; index < part.length; index += 1) {
      const unit = part.charCodeAt(index);
      first = Math.imul(first ^ unit, FNV_PRIME);
      second = Math.imul(second ^ (unit + place), FNV_PRIME);
      place += 1;
    }
  }
  // Never both zero: a xorshift that starts at zero stays there.
  return [finish(first), finish(second) | 1];
}

function finish(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * A small, fast hash for pure code: ids that come from the log alone, and fingerprints of unreadable lines. Not for
 * secrets.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SECOND_SEED = 0x9e3779b9;
const BASE62 = codesOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/** 64 bits as 16 hexadecimal characters. */
export function hashHex(text: string): string {
  const [high, low] = hashWords(text);
  return hexWord(high) + hexWord(low);
}

/** Any number of base62 characters: the hash seeds a generator, so that longer ids stay evenly spread. */
export function hashBase62(text: string, length: number): string {
  const codes = new Array<number>(length).fill(0);
  writeBase62(codes, text, { from: 0 });
  return String.fromCharCode(...codes);
}

/** The same as character codes, up to the end of the list: ids are many, and joining short texts costs more. */
export function writeBase62(codes: number[], text: string, { from }: { readonly from: number }): void {
  let [high, low] = hashWords(text);
  for (let index = from; index < codes.length; index += 1) {
    // One round of xorshift over the pair.
    const mixed = high ^ (high << 11);
    high = low;
    low = low ^ (low >>> 19) ^ mixed ^ (mixed >>> 8);
    codes[index] = BASE62[((high + low) >>> 0) % BASE62.length] ?? 0;
  }
}

/** The character codes of a text, one per UTF-16 unit. */
export function codesOf(text: string): number[] {
  const codes: number[] = [];
  for (let index = 0; index < text.length; index += 1) codes.push(text.charCodeAt(index));
  return codes;
}

/** Two FNV-1a passes over the UTF-16 units with different seeds, each finished so that near texts end far apart. */
function hashWords(text: string): [number, number] {
  let first = FNV_OFFSET | 0;
  let second = FNV_OFFSET ^ SECOND_SEED;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, FNV_PRIME);
    second = Math.imul(second ^ (unit + index), FNV_PRIME);
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

const hexWord = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");

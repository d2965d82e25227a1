/**
 * A small, fast hash for pure code: ids that come from the log alone, and fingerprints of unreadable lines. Not for
 * secrets.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SECOND_SEED = 0x9e3779b9;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** 64 bits as 16 hexadecimal characters. */
export function hashHex(text: string): string {
  const [high, low] = hashWords(text);
  return hexWord(high) + hexWord(low);
}

/** Any number of base62 characters: the hash seeds a generator, so that longer ids stay evenly spread. */
export function hashBase62(text: string, length: number): string {
  let [high, low] = hashWords(text);
  let out = "";
  while (out.length < length) {
    // One round of xorshift over the pair; both words stay unsigned 32 bit.
    const mixed = (high ^ (high << 11)) >>> 0;
    high = low;
    low = (low ^ (low >>> 19) ^ mixed ^ (mixed >>> 8)) >>> 0;
    out += BASE62.charAt(((high + low) >>> 0) % BASE62.length);
  }
  return out;
}

/** Two FNV-1a passes over the UTF-16 units with different seeds, each finished so that near texts end far apart. */
function hashWords(text: string): [number, number] {
  let first = FNV_OFFSET;
  let second = (FNV_OFFSET ^ SECOND_SEED) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, FNV_PRIME);
    second = Math.imul(second ^ (unit + index), FNV_PRIME);
  }
  // Never both zero: a xorshift that starts at zero stays there.
  return [finish(first), (finish(second) | 1) >>> 0];
}

function finish(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const hexWord = (word: number): string => word.toString(16).padStart(8, "0");

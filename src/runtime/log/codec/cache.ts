/**
 * What was made of the latest groups, up to a number of bytes: the oldest is dropped first, the newest never. Consumers
 * that keep up want it within moments, so it is dropped after a while.
 */
import { openAging } from "../aging.ts";

export interface Cache<Key, Value> {
  readonly get: (key: Key) => Value | undefined;
  readonly add: (key: Key, value: Value, bytes: number) => void;
}

export interface CacheOptions {
  readonly maxBytes: number;
  /** What is this old is dropped, at the latest after twice the time. */
  readonly keptMs?: number;
}

const KEPT_MS = 250;

export function openCache<Key, Value>({ maxBytes, keptMs = KEPT_MS }: CacheOptions): Cache<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly bytes: number; readonly number: number }>();
  let total = 0;
  let added = 0;
  let old = 0;
  const drop = (key: Key, { bytes }: { readonly bytes: number }): void => {
    entries.delete(key);
    total -= bytes;
  };
  const aging = openAging(keptMs, () => {
    for (const [key, entry] of entries) {
      if (entry.number > old) break;
      drop(key, entry);
    }
    old = added;
    return entries.size > 0;
  });
  return {
    get: (key) => entries.get(key)?.value,
    add(key, value, bytes) {
      added += 1;
      entries.set(key, { value, bytes, number: added });
      total += bytes;
      aging.touch();
      for (const [first, entry] of entries) {
        if (total <= maxBytes || first === key) return;
        drop(first, entry);
      }
    },
  };
}

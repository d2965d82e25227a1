/**
 * What was made of the latest groups, up to a number of bytes: the oldest is dropped first, the newest never. Consumers
 * that keep up want it within moments; a while after the last group, all of it is dropped.
 */
import { whenQuiet } from "../quiet.ts";

export interface Cache<Key, Value> {
  readonly get: (key: Key) => Value | undefined;
  readonly add: (key: Key, value: Value, bytes: number) => void;
}

export interface CacheOptions {
  readonly maxBytes: number;
  readonly keptMs?: number;
}

const KEPT_MS = 2_000;

export function openCache<Key, Value>({ maxBytes, keptMs = KEPT_MS }: CacheOptions): Cache<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly bytes: number }>();
  let total = 0;
  const quiet = whenQuiet(keptMs, () => {
    entries.clear();
    total = 0;
  });
  return {
    get: (key) => entries.get(key)?.value,
    add(key, value, bytes) {
      entries.set(key, { value, bytes });
      total += bytes;
      quiet.touch();
      for (const [old, entry] of entries) {
        if (total <= maxBytes || old === key) return;
        entries.delete(old);
        total -= entry.bytes;
      }
    },
  };
}

/** What was made of the latest groups, up to a number of bytes: the oldest is dropped first, the newest never. */

export interface Cache<Key, Value> {
  readonly get: (key: Key) => Value | undefined;
  readonly add: (key: Key, value: Value, bytes: number) => void;
}

export function openCache<Key, Value>({ maxBytes }: { maxBytes: number }): Cache<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly bytes: number }>();
  let total = 0;
  return {
    get: (key) => entries.get(key)?.value,
    add(key, value, bytes) {
      entries.set(key, { value, bytes });
      total += bytes;
      for (const [old, entry] of entries) {
        if (total <= maxBytes || old === key) return;
        entries.delete(old);
        total -= entry.bytes;
      }
    },
  };
}

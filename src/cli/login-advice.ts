/** What to do when an agent has no credentials, in a few words. */
import type { Adapter } from "../core/adapter.ts";

export function loginAdvice({ credentials, binary }: Adapter): string {
  const [key] = credentials?.variables ?? [];
  const ways = [
    ...(key === undefined ? [] : [`set ${key}`]),
    ...(binary === null || credentials === null || credentials.files.length === 0
      ? []
      : [`run ${binary.name} and log in`]),
  ];
  return ways.length === 0 ? "it has no login" : ways.join(", or ");
}

/** Suites that need something of the machine: skipped by name with the reason; in CI an absent thing is a failure. */
import { describe, test } from "vitest";

/** `missing` is null when everything is there, else a sentence that says what is not. */
export function describeNeeding(name: string, { missing }: { missing: string | null }, body: () => void): void {
  if (missing === null) return void describe(name, body);
  if (process.env.CI === "true") {
    return void test(name, () => {
      throw new Error(missing);
    });
  }
  console.warn(`skipped: ${name}: ${missing}`);
  describe.skip(`${name} (${missing})`, body);
}

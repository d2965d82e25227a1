/** The rules of each dialect: what `franca lint` checks, and what our own tests hold every stream to. */
import { isOpenCodeEvent } from "../dialects/opencode-stream.ts";
import { TakopiEvent } from "../dialects/takopi.ts";
import { openCodeRules } from "./opencode.ts";
import { defineRules, type RuleSet, type Violation } from "./rule.ts";
import { takopiRules } from "./takopi.ts";
import { universal } from "./universal.ts";

export type { Linter, RuleSet, Violation } from "./rule.ts";
export { universal } from "./universal.ts";

export const ruleSets: readonly RuleSet[] = [
  universal,
  defineRules({ dialect: "opencode", rules: openCodeRules, isEvent: isOpenCodeEvent }),
  defineRules({
    dialect: "takopi",
    rules: takopiRules,
    isEvent: (value): value is TakopiEvent => TakopiEvent.safeParse(value).success,
  }),
];

export const rulesFor = (dialect: string): RuleSet | null => ruleSets.find((set) => set.dialect === dialect) ?? null;

/** All that is wrong with a stream. */
export function lint(set: RuleSet, values: Iterable<unknown>): Violation[] {
  const linter = set.open();
  const out: Violation[] = [];
  let line = 0;
  for (const value of values) {
    line += 1;
    out.push(...linter.step(value, line));
  }
  out.push(...linter.end());
  return out;
}

/** The rules of every dialect, universal first: the package's export `franca/rules`. */
import type { RuleSet } from "../core/lint.ts";
import { projectionRules } from "../projections/rules.ts";
import { universal } from "../rules/index.ts";

export type { Linter, RuleSet, Violation } from "../core/lint.ts";
export { lint, universal } from "../rules/index.ts";

export const ruleSets: readonly RuleSet[] = [universal, ...projectionRules];

export const rulesFor = (dialect: string): RuleSet | null => ruleSets.find((set) => set.dialect === dialect) ?? null;

/** The rules of the dialects that have a fixed shape, without the code that renders them: for `franca/rules`. */
import type { RuleSet } from "../core/lint.ts";
import { acpRules } from "./acp/rules.ts";
import { openCodeRules } from "./opencode/rules.ts";
import { takopiRules } from "./takopi/rules.ts";

export const projectionRules: readonly RuleSet[] = [openCodeRules, takopiRules, acpRules];

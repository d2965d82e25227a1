/** The ACP projection: any agent for every editor that speaks the Agent Client Protocol. */
import { defineProjection } from "../../core/projection.ts";
import { acpFold } from "./project.ts";
import { acpRules } from "./rules.ts";
import { isAcpEdge, summariseAcp } from "./summary.ts";

export { type AcpOutput, updateLine } from "./lines.ts";
export { acpFold, commandsUpdate } from "./project.ts";
export type { ClientAbilities } from "./state.ts";

export const acp = defineProjection({
  name: "acp",
  summary: "session updates, requests and answers for editors (Agent Client Protocol)",
  form: "json",
  file: "acp.jsonl",
  sessions: "each",
  fold: () => acpFold(),
  rules: acpRules,
  lane: { title: "ACP", share: 18, summarise: summariseAcp, isEdge: isAcpEdge },
});

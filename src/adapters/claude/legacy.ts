/** Older versions and stored streams report tools by lines of their own as well: the same call, so the same item. */
import type { Report } from "../../core/report.ts";
import type { ClaudeToolResultLine, ClaudeToolUseLine } from "../../dialects/claude.ts";
import { readBlock } from "../../dialects/claude-guard.ts";
import { completeCall } from "./calls.ts";
import { onToolResult } from "./results.ts";
import type { State } from "./state.ts";
import { subagentOf } from "./tasks.ts";

export function onLegacyUse(state: State, line: ClaudeToolUseLine): Report[] {
  const block = readBlock({ ...(line.tool_use ?? line), type: "tool_use" });
  if (block.type !== "tool_use") return [];
  const out: Report[] = [];
  const subagent = subagentOf(state, out, line);
  const parent = state.lastWhole?.parent ?? null;
  out.push(...completeCall(state, { message: { id: state.lastWhole?.id ?? null, parent, subagent }, call: block }));
  return out;
}

export function onLegacyResult(state: State, line: ClaudeToolResultLine): Report[] {
  const block = readBlock({ ...(line.tool_result ?? line), type: "tool_result" });
  if (block.type !== "tool_result") return [];
  const out: Report[] = [];
  const subagent = subagentOf(state, out, line);
  if (subagent === undefined) state.lastWhole = null;
  out.push(...onToolResult(state, { block, returned: undefined, meta: undefined, subagent }));
  return out;
}

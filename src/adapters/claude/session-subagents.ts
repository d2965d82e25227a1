/** Records of subagents: in files of their own, or in the same file with versions up to 1.0. */
import type { Recorded } from "../../core/recorded.ts";
import { type ClaudeFileRecord, messageOf, textOf } from "../../dialects/claude-file.ts";
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import { assistantLines, userLine } from "./session-lines.ts";

/** What one subagent did. */
export interface SubagentFile {
  readonly agentId: string | null;
  /** `.meta.json` beside it, where there is one. */
  readonly meta: Shape;
  readonly records: readonly ClaudeFileRecord[];
}

/** A call of the Agent tool. */
export interface AgentCall {
  readonly id: string;
  readonly prompt: string;
  readonly description: string | undefined;
  readonly type: string | undefined;
  /** From its result, where that has one. */
  readonly agentId: string | null;
}

const AGENT_TOOLS = ["Agent", "Task"];

export function agentCalls(records: readonly ClaudeFileRecord[]): AgentCall[] {
  const returned = new Map<string, string>();
  for (const record of records) {
    const { agentId } = shapeOf(record.native.toolUseResult);
    if (isString(agentId)) for (const id of resultIds(record)) returned.set(id, agentId);
  }
  return records.flatMap((record) => {
    const { content } = messageOf(record);
    if (record.type !== "assistant" || isString(content)) return [];
    return content.map(shapeOf).flatMap(({ type, id, name, input }): AgentCall[] => {
      if (type !== "tool_use" || !isString(id) || !isString(name) || !AGENT_TOOLS.includes(name)) return [];
      const { prompt, description, subagent_type } = shapeOf(input);
      return [
        {
          id,
          prompt: isString(prompt) ? prompt : "",
          description: isString(description) ? description : undefined,
          type: isString(subagent_type) ? subagent_type : undefined,
          agentId: returned.get(id) ?? null,
        },
      ];
    });
  });
}

export function resultIds(record: ClaudeFileRecord): string[] {
  const { content } = messageOf(record);
  if (record.type !== "user" || isString(content)) return [];
  return content
    .map(shapeOf)
    .flatMap(({ type, tool_use_id }) => (type === "tool_result" && isString(tool_use_id) ? [tool_use_id] : []));
}

/** The subagent files that belong to calls of this conversation, each with its call. */
export function matchSubagents(
  calls: readonly AgentCall[],
  files: readonly SubagentFile[],
): { readonly call: AgentCall; readonly file: SubagentFile }[] {
  return files.flatMap((file) => {
    const call =
      calls.find(({ id }) => id === file.meta.toolUseId) ??
      calls.find(({ agentId }) => agentId !== null && agentId === file.agentId) ??
      // Version 1.0 links them by nothing but the words (v1.0.128-subagent-foreground).
      (file.agentId === null ? calls.find(({ prompt }) => prompt === promptOf(file)) : undefined);
    return call === undefined ? [] : [{ call, file }];
  });
}

const promptOf = ({ records }: SubagentFile): string => {
  const [first] = records;
  return first === undefined ? "" : textOf(messageOf(first).content);
};

/** The sidechains inside one file: each begins with a record without a parent. */
export function sidechains(records: readonly ClaudeFileRecord[]): SubagentFile[] {
  const chains = new Map<string, ClaudeFileRecord[]>();
  const roots = new Map<string, string>();
  for (const record of records) {
    if (!record.sidechain) continue;
    const root = (record.parent === null ? undefined : roots.get(record.parent)) ?? record.uuid;
    roots.set(record.uuid, root);
    const chain = chains.get(root);
    if (chain === undefined) chains.set(root, [record]);
    else chain.push(record);
  }
  return [...chains.values()].map((chain) => ({ agentId: null, meta: {}, records: chain }));
}

/** Its lines, as the live stream has them. Version 1.0 does not print the subagent's prompt. */
export function subagentLines({ call, file }: { call: AgentCall; file: SubagentFile }): Recorded[] {
  const { agentType, description, toolUseId } = file.meta;
  const scope: Shape = {
    parent_tool_use_id: call.id,
    ...(isString(toolUseId) && file.agentId !== null ? { agent_id: file.agentId } : {}),
    subagent_type: isString(agentType) ? agentType : call.type,
    task_description: isString(description) ? description : call.description,
  };
  const lines: Recorded[] = [];
  for (const [index, record] of file.records.entries()) {
    if (record.type === "assistant") lines.push(...assistantLines(file.records, { record, index, scope }));
    else if (record.type === "user" && (resultIds(record).length > 0 || index === 0)) {
      lines.push(userLine(record, scope));
    }
  }
  return lines;
}

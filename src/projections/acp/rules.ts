/** What an ACP client relies on when an agent speaks to it. */
import { type Checker as AnyChecker, defineRules, type Rule } from "../../core/lint.ts";
import { type AcpOutput, isAcpOutput } from "./lines.ts";

type Checker = AnyChecker<AcpOutput>;

const rules: readonly Rule<AcpOutput>[] = [
  {
    id: "acp.tool-announced",
    says: "A tool call is announced by `tool_call`, once, before any update of it.",
    check: toolAnnounced,
  },
  {
    id: "acp.tool-final",
    says: "Nothing follows the final status of a tool call.",
    check: toolFinal,
  },
  {
    id: "acp.answer-last",
    says: "Every tool call has its final status when a prompt is answered.",
    check: answerLast,
  },
  { id: "acp.answer-once", says: "A prompt is answered once.", check: answerOnce },
];

export const acpRules = defineRules({ dialect: "acp", rules, isEvent: isAcpOutput });

interface ToolUpdate {
  readonly sessionUpdate: string;
  readonly toolCallId: string;
  readonly status: unknown;
}

function toolOf(line: AcpOutput): ToolUpdate | null {
  if (!("method" in line) || line.method !== "session/update") return null;
  const { sessionUpdate, toolCallId, status } = line.params.update;
  const isTool = sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
  return isTool ? { sessionUpdate, toolCallId: String(toolCallId), status } : null;
}

const isFinal = ({ status }: ToolUpdate): boolean => status === "completed" || status === "failed";

function toolAnnounced(): Checker {
  const known = new Set<string>();
  return {
    step(line) {
      const tool = toolOf(line);
      if (tool === null) return [];
      const { toolCallId } = tool;
      if (tool.sessionUpdate === "tool_call") {
        if (known.has(toolCallId)) return [`${toolCallId} is announced twice`];
        known.add(toolCallId);
        return [];
      }
      return known.has(toolCallId) ? [] : [`${toolCallId} was not announced`];
    },
  };
}

function toolFinal(): Checker {
  const final = new Set<string>();
  return {
    step(line) {
      const tool = toolOf(line);
      if (tool === null) return [];
      if (final.has(tool.toolCallId)) return [`${tool.toolCallId} had its final status already`];
      if (isFinal(tool)) final.add(tool.toolCallId);
      return [];
    },
  };
}

/** Commands in the background outlive their turn, and their updates follow its answer. */
function answerLast(): Checker {
  const open = new Set<string>();
  let pending: readonly string[] = [];
  return {
    step(line) {
      const tool = toolOf(line);
      if (tool !== null) {
        if (isFinal(tool)) {
          open.delete(tool.toolCallId);
          pending = pending.filter((id) => id !== tool.toolCallId);
        } else open.add(tool.toolCallId);
        return [];
      }
      if ("result" in line) pending = [...pending, ...open];
      return [];
    },
    end: () => [...new Set(pending)].map((id) => `${id} never had a final status`),
  };
}

function answerOnce(): Checker {
  const answered = new Set<string>();
  return {
    step(line) {
      if ("method" in line) return [];
      const id = String(line.id);
      if (answered.has(id)) return [`${id} is answered twice`];
      answered.add(id);
      return [];
    },
  };
}

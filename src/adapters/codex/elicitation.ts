/** What an MCP server asks through Codex: a form becomes questions, a bare yes or no a permission. */
import { defined } from "../../core/defined.ts";
import { questionsIn } from "../../core/elicitation.ts";
import type { PermissionReport, QuestionReport } from "../../core/report.ts";
import type { RequestOf } from "../../dialects/codex.ts";
import { shapeOf } from "../../dialects/shape.ts";

type Elicitation = RequestOf<"mcpServer/elicitation/request">;

/** The call of the server's tool that is running, in whose name the server asks. */
export interface RunningCall {
  readonly callId: string;
  readonly name: string;
}

export function onElicitation(
  params: Elicitation,
  { key, call }: { key: string; call: RunningCall | null },
): PermissionReport | QuestionReport {
  const { serverName, mode, message, url } = params;
  const call_id = call?.callId ?? null;
  const questions = questionsIn(params, message);
  if (questions.length === 0) {
    const isLink = mode === "url" && typeof url === "string";
    const action = isLink ? "open_url" : "mcp";
    return {
      type: "permission",
      key,
      action,
      tool: call?.name ?? serverName,
      call_id,
      // For the approval of a tool call Codex sends no form, but says which call it is about.
      input: defined({ message, url: isLink ? url : undefined, arguments: shapeOf(params._meta).tool_params }),
      requested: isLink ? { kind: "url", url } : call === null ? { kind: "unknown" } : { kind: "tool" },
      metadata: { server: serverName },
    };
  }
  return {
    type: "question",
    key,
    call_id,
    questions,
    metadata: { server: serverName, message },
  };
}

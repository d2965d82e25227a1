/** A line of ACP in a few words, for the lanes. */
import type { AcpOutput, Update } from "./lines.ts";

const LENGTH = 60;

export function summariseAcp(output: AcpOutput): string {
  if ("method" in output) {
    return output.method === "session/update" ? updateText(output.params.update) : output.method;
  }
  if ("error" in output) return `error ${output.error.code}: ${short(output.error.message)}`;
  return `answer: ${String(output.result.stopReason)}`;
}

export const isAcpEdge = (output: AcpOutput): boolean => !("method" in output);

function updateText(update: Update): string {
  const { sessionUpdate, content, title, status } = update;
  if (typeof content === "object" && content !== null && "text" in content) {
    return `${sessionUpdate} ${JSON.stringify(short(String(content.text)))}`;
  }
  return [sessionUpdate, status, title].filter((part) => typeof part === "string").join(" ");
}

const short = (text: string): string => (text.length <= LENGTH ? text : `${text.slice(0, LENGTH - 1)}…`);

/** One line of an agent as JSON; what cannot be read is kept as far as it shows what it was. */
import { DEPTH_LIMIT, isTooDeep } from "../../../core/json.ts";
import { LINE_LIMIT, type OverlongLine } from "../lines.ts";
import type { Heard } from "./contract.ts";

/** How much of a line that cannot be read is kept: by every session that shares the agent's process. */
const UNREADABLE_LIMIT = 8 * 1024;
/** How much of a line that is nested too deeply is kept. */
const EXCERPT_LENGTH = 1024;

export type ParsedLine = Extract<Heard, { type: "line" | "unreadable" }>;

export function parseLine(text: string): ParsedLine {
  if (isTooDeep(text)) {
    const error = `A line nested deeper than ${DEPTH_LIMIT} levels was dropped.`;
    return { type: "unreadable", text: text.slice(0, EXCERPT_LENGTH), error };
  }
  try {
    return { type: "line", value: JSON.parse(text), text };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const excerpt = text.slice(0, UNREADABLE_LIMIT);
    return { type: "unreadable", text: excerpt, error: `Not a line of JSON: ${reason.slice(0, 200)}` };
  }
}

export const overlong = ({ excerpt, bytes, limit }: Omit<OverlongLine, "number">): ParsedLine => ({
  type: "unreadable",
  text: excerpt,
  error: `A line of ${bytes} bytes was dropped: the limit is ${limit}${limit > LINE_LIMIT ? " for all agents" : ""}.`,
});

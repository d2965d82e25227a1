/** Content parts and the text that streams into them. */
import type { ContentPart } from "../protocol/items.ts";
import type { DeltaKind } from "./report.ts";

export interface Said {
  readonly text: string;
  readonly part: DeltaKind;
}

/** The content with what was streamed in the place of its text. */
export function withText(content: readonly ContentPart[], { text, part }: Said): readonly ContentPart[] {
  let found = false;
  const replaced = content.map((one): ContentPart => {
    if (found) return one;
    if (one.type === "tool_result" && part === "tool_output") {
      found = true;
      return { ...one, output: text };
    }
    if (one.type === part && (one.type === "text" || one.type === "reasoning")) {
      found = true;
      return { ...one, text };
    }
    return one;
  });
  return found || part === "tool_output" ? replaced : [...replaced, textPart({ text, part })];
}

export const textPart = ({ text, part }: { text: string; part: "text" | "reasoning" }): ContentPart =>
  part === "text" ? { type: "text", text } : { type: "reasoning", text, visibility: "public" };

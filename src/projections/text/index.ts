/** The text projection: what a person reads in a terminal. */
import type { Fold } from "../../core/fold.ts";
import { defineProjection } from "../../core/projection.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type TextState, textProjection } from "./project.ts";

export { type ApprovalRequest, approvalLines } from "./approval.ts";
export { type MarkdownText, openMarkdown } from "./markdown.ts";
export { activityOf, progressOf, type TextOptions, type TextPiece, type TextState, textProjection } from "./project.ts";
export { clean, oneLine, type Paint, paintFor } from "./style.ts";
export { cost, count, duration, tokens } from "./summary.ts";

export const text = defineProjection({
  name: "text",
  summary: "what a person reads in a terminal",
  form: "text",
  file: "text.txt",
  sessions: "each",
  fold: inOneFile,
});

/** In a file, the answer and the notes about it are one text. */
function inOneFile(): Fold<UniversalEvent, string, TextState> {
  const { start, step } = textProjection({ color: false, prompts: true });
  return { start, step: (state, event) => step(state, event).map((piece) => piece.text) };
}

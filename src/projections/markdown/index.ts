/** The Markdown projection: a document to read and keep. */
import { defineProjection } from "../../core/projection.ts";
import { markdownFold } from "./project.ts";

export const markdown = defineProjection({
  name: "markdown",
  summary: "a document to read and keep",
  form: "text",
  file: "markdown.md",
  sessions: "each",
  fold: () => markdownFold,
});

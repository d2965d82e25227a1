/** The Markdown projection. */
export { markdownFold } from "./project.ts";

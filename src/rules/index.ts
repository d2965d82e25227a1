/** The rules of the universal stream. A dialect's own rules are in its projection's folder. */
export { lint } from "../core/lint.ts";
export { universal } from "./universal.ts";

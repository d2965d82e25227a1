/** What a person wants to read in a terminal. */
export { activityOf, type TextOptions, type TextPiece, type TextState, textProjection } from "./project.ts";
export { clean, oneLine, type Paint, paintFor } from "./style.ts";
export { cost, duration, tokens } from "./summary.ts";

/** The Takopi projection: one run of a chat bridge per turn. */
export { takopiFold } from "./project.ts";
export type { State as TakopiState, TakopiOptions } from "./state.ts";
export { summariseTakopi } from "./summary.ts";

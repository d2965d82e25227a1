/** The vocabulary: everything Franca says and takes, in one import. */
export * from "./agents.ts";
export * from "./commands.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./ids.ts";
export * from "./items.ts";
export * from "./resources.ts";

/** The vocabulary: everything Franca says and takes, in one import. */
export * from "./adoption.ts";
export * from "./agents.ts";
export * from "./budget.ts";
export * from "./commands.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./id-schemas.ts";
export {
  type CountedId,
  type CountedKind,
  eventId,
  itemId,
  itemNumber,
  permissionId,
  promptId,
  questionId,
  readId,
  sessionId,
  turnId,
} from "./ids.ts";
export * from "./items.ts";
export * from "./placement.ts";
export * from "./resources.ts";
export * from "./tokens.ts";
export * from "./webhooks.ts";
export * from "./workspaces.ts";

/** Identifiers as schemas, for what comes from outside. */
import * as z from "zod";

export const SessionId = z.string().min(1).max(256).brand<"SessionId">();
export type SessionId = z.infer<typeof SessionId>;

export const EventId = z.string().brand<"EventId">();
export type EventId = z.infer<typeof EventId>;

export const TurnId = z.string().brand<"TurnId">();
export type TurnId = z.infer<typeof TurnId>;

export const ItemId = z.string().brand<"ItemId">();
export type ItemId = z.infer<typeof ItemId>;

export const PermissionId = z.string().brand<"PermissionId">();
export type PermissionId = z.infer<typeof PermissionId>;

export const QuestionId = z.string().brand<"QuestionId">();
export type QuestionId = z.infer<typeof QuestionId>;

export const PromptId = z.string().min(1).max(256).brand<"PromptId">();
export type PromptId = z.infer<typeof PromptId>;

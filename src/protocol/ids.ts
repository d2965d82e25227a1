/** Identifiers. All are derived from the session id and a counter, so the same input always gives the same ids. */
import { z } from "zod";

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

// Brands exist only in the type system; these constructors are the one place that gives them.
const brand = <T extends z.ZodType>(_schema: T, text: string): z.infer<T> => text as z.infer<T>;

export const sessionId = (text: string): SessionId => brand(SessionId, text);
export const promptId = (text: string): PromptId => brand(PromptId, text);
export const eventId = (session: SessionId, sequence: number): EventId => brand(EventId, `${session}:${sequence}`);
export const turnId = (session: SessionId, count: number): TurnId => brand(TurnId, `${session}:t${count}`);
export const itemId = (session: SessionId, count: number): ItemId => brand(ItemId, `${session}:i${count}`);
export const permissionId = (session: SessionId, count: number): PermissionId =>
  brand(PermissionId, `${session}:p${count}`);
export const questionId = (session: SessionId, count: number): QuestionId => brand(QuestionId, `${session}:q${count}`);

/** What a counted id names. */
export type CountedKind = "turn" | "item" | "permission" | "question";

export interface CountedId {
  readonly session: string;
  readonly kind: CountedKind;
  /** Counts the things of this kind in the session, from 1. */
  readonly number: number;
}

const kindOf: ReadonlyMap<string, CountedKind> = new Map([
  ["t", "turn"],
  ["i", "item"],
  ["p", "permission"],
  ["q", "question"],
]);

/** Reads an id that the constructors above have made; null for any other text. */
export function readId(id: string): CountedId | null {
  const [, session, letter = "", number] = /^(.+):([tipq])(\d+)$/s.exec(id) ?? [];
  const kind = kindOf.get(letter);
  return session === undefined || kind === undefined ? null : { session, kind, number: Number(number) };
}

/** The number in an item's id; null when the text is no item's id. */
export function itemNumber(id: string): number | null {
  const read = readId(id);
  return read?.kind === "item" ? read.number : null;
}

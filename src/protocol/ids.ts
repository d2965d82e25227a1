/** Identifiers. All are derived from the session id and a counter, so the same input always gives the same ids. */
import type { $brand } from "zod";

export type SessionId = string & $brand<"SessionId">;
export type EventId = string & $brand<"EventId">;
export type TurnId = string & $brand<"TurnId">;
export type ItemId = string & $brand<"ItemId">;
export type PermissionId = string & $brand<"PermissionId">;
export type QuestionId = string & $brand<"QuestionId">;
export type PromptId = string & $brand<"PromptId">;

// Brands exist only in the type system; these constructors are the one place that gives them.
const brand = <Name extends string>(text: string): string & $brand<Name> => text as string & $brand<Name>;

export const sessionId = (text: string): SessionId => brand<"SessionId">(text);
export const promptId = (text: string): PromptId => brand<"PromptId">(text);
export const eventId = (session: SessionId, sequence: number): EventId => brand<"EventId">(`${session}:${sequence}`);
export const turnId = (session: SessionId, count: number): TurnId => brand<"TurnId">(`${session}:t${count}`);
export const itemId = (session: SessionId, count: number): ItemId => brand<"ItemId">(`${session}:i${count}`);
export const permissionId = (session: SessionId, count: number): PermissionId =>
  brand<"PermissionId">(`${session}:p${count}`);
export const questionId = (session: SessionId, count: number): QuestionId =>
  brand<"QuestionId">(`${session}:q${count}`);

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

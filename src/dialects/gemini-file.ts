/**
 * A line of Gemini CLI's session files (`tmp/<slug>/chats/session-<time>-<id>.jsonl`), as version 0.61 writes them:
 * messages, and patches to the list of them. Version 0.30 writes one document with the same messages.
 */
import { isShape, isString, type Shape, shapeOf } from "./shape.ts";

export interface GeminiMessage {
  readonly id: string;
  readonly type: string;
  /** Epoch milliseconds; null where the message has none. */
  readonly at: number | null;
  /** As it is written. */
  readonly native: Shape;
}

export type GeminiFileLine =
  | { readonly kind: "header"; readonly id: string; readonly isMain: boolean }
  /** A message with a known id replaces the one before. */
  | { readonly kind: "message"; readonly message: GeminiMessage }
  | { readonly kind: "set"; readonly messages: readonly GeminiMessage[] | null; readonly title: string | null }
  /** That message and later ones are gone. */
  | { readonly kind: "rewind"; readonly to: string }
  | { readonly kind: "unknown" };

export function readGeminiFileLine(value: unknown): GeminiFileLine {
  const native = shapeOf(value);
  if (isString(native.$rewindTo)) return { kind: "rewind", to: native.$rewindTo };
  if (isShape(native.$set)) return readSet(native.$set);
  if (isString(native.sessionId)) {
    return { kind: "header", id: native.sessionId, isMain: native.kind === undefined || native.kind === "main" };
  }
  const message = messageOf(native);
  return message === null ? { kind: "unknown" } : { kind: "message", message };
}

/** The whole document of older versions, or the fields that a patch sets. */
export function readSet({ messages, summary }: Shape): Extract<GeminiFileLine, { kind: "set" }> {
  const list = Array.isArray(messages) ? messages.map(shapeOf).flatMap((one) => messageOf(one) ?? []) : null;
  return { kind: "set", messages: list, title: isString(summary) && summary !== "" ? summary : null };
}

function messageOf(native: Shape): GeminiMessage | null {
  const { id, type, timestamp } = native;
  if (!isString(id) || !isString(type)) return null;
  const at = isString(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return { id, type, at: Number.isNaN(at) ? null : at, native };
}

/** The text of parts: of a message's content, which may also be text itself, or of a tool's result. */
export function textOfParts(content: unknown): string {
  if (isString(content)) return content;
  return Array.isArray(content)
    ? content
        .map(shapeOf)
        .flatMap(({ text, thought }) => (isString(text) && thought !== true ? [text] : []))
        .join("")
    : "";
}

/** What a tool has returned, by the part that the model is sent. */
export function responseText(response: unknown): string {
  const { output, error } = shapeOf(response);
  const said = output ?? error;
  if (isString(said)) return said;
  return said === undefined ? "" : JSON.stringify(said);
}

/**
 * A record of Qwen Code's session files (`projects/<folder>/chats/<session>.jsonl`), as version 0.24 writes them: a
 * chain of records, each with its parent, whose messages have Gemini's parts.
 */
import { isOneOf, isString, type Shape, shapeOf } from "./shape.ts";

export interface QwenFileRecord {
  readonly type: "user" | "assistant" | "tool_result" | "system";
  readonly subtype: string | null;
  readonly uuid: string;
  readonly parent: string | null;
  /** Epoch milliseconds; null where the record has none. */
  readonly at: number | null;
  /** As it is written. */
  readonly native: Shape;
}

const isRecordType = isOneOf(["user", "assistant", "tool_result", "system"]);

/** Null for what is no record. */
export function readQwenFileLine(value: unknown): QwenFileRecord | null {
  const native = shapeOf(value);
  const { type, subtype, uuid, parentUuid, timestamp } = native;
  if (!isRecordType(type) || !isString(uuid)) return null;
  const at = isString(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return {
    type,
    subtype: isString(subtype) ? subtype : null,
    uuid,
    parent: isString(parentUuid) ? parentUuid : null,
    at: Number.isNaN(at) ? null : at,
    native,
  };
}

export function partsOf({ native }: QwenFileRecord): readonly Shape[] {
  const { parts } = shapeOf(native.message);
  return Array.isArray(parts) ? parts.map(shapeOf) : [];
}

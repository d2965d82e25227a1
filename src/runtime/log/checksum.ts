/**
 * Checksums of what is stored. They detect damage, not tampering. A record, prompt or checkpoint without one was stored
 * by a version that had none, and is accepted.
 */
import { crc32 } from "node:zlib";
import { blob, integer, type Row, text } from "./rows.ts";

export interface Summed {
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

/** Checksum of a group of events or native lines, over its bytes and its declared range. */
export const checksum = ({ first, last, bytes }: Summed): number => crc32(bytes, crc32(`${first}-${last}`));

/** Whether a row (`first`, `last`, `body`, `checksum`) is as it was written. */
export const isWhole = (row: Row): boolean =>
  integer(row, "checksum") ===
  checksum({ first: integer(row, "first"), last: integer(row, "last"), bytes: blob(row, "body") });

/** Checksum of stored texts exactly as they are in their columns, independent of how a value is encoded. */
export const textChecksum = (...texts: readonly string[]): number =>
  texts.reduce((sum, one) => crc32(one, crc32(`${Buffer.byteLength(one)} `, sum)), 0);

export interface SummedPrompt {
  readonly id: string;
  readonly idempotencyKey: string | null;
  readonly body: string;
  readonly delivery: string;
}

/** Checksum of a prompt, without its status and its position, which change. */
export const promptChecksum = ({ id, idempotencyKey, body, delivery }: SummedPrompt): number =>
  textChecksum(id, idempotencyKey ?? "", body, delivery);

/** Replaces the checksum of a prompt that was waiting when commits were lost. Real checksums are never negative. */
export const MAY_HAVE_RUN = -1;

/** Whether a column has no checksum, or that of the texts. */
export const isSum = (stored: unknown, sum: number): boolean =>
  stored === null || stored === undefined || Number(stored) === sum;

/** Whether the settings of a row of `sessions` are as they were written. */
export const areSettingsWhole = (row: Row): boolean =>
  isSum(row.checksum, textChecksum(text(row, "id"), text(row, "settings")));

export const isSummaryWhole = (row: Row): boolean => isSum(row.summary_checksum, textChecksum(text(row, "summary")));

export const isPromptWhole = (row: Row): boolean =>
  isSum(
    row.checksum,
    promptChecksum({
      id: text(row, "id"),
      idempotencyKey: typeof row.idempotency_key === "string" ? row.idempotency_key : null,
      body: text(row, "body"),
      delivery: text(row, "delivery"),
    }),
  );

/** The rows on one leaf page of a SQLite table, with what continues on other pages. Nothing read is trusted. */
import type { TableRow, Value } from "./pages.ts";

interface Pages {
  readonly usable: number;
  readonly count: number;
  readonly page: (number: number) => Buffer | null;
}

/** A row that cannot be read is null. */
export function readCells(page: Buffer, start: number, pages: Pages): (TableRow | null)[] {
  const count = page.readUInt16BE(start + 3);
  // A page that says more cannot be right: each cell has two bytes here and at least four elsewhere.
  if (count * 6 > page.length) return [null];
  return Array.from({ length: count }, (_, cell) => readCell(page, page.readUInt16BE(start + 8 + cell * 2), pages));
}

function readCell(page: Buffer, at: number, pages: Pages): TableRow | null {
  const bytes = varint(page, at);
  const rowid = bytes === null ? null : varint(page, bytes.next);
  if (bytes === null || rowid === null || bytes.value > pages.count * pages.usable) return null;
  const payload = payloadOf(page, { at: rowid.next, bytes: bytes.value }, pages);
  const values = payload === null ? null : valuesOf(payload);
  return values === null ? null : { rowid: rowid.value, values };
}

interface Payload {
  readonly at: number;
  readonly bytes: number;
}

function payloadOf(page: Buffer, { at, bytes }: Payload, { usable, page: pageAt }: Pages): Buffer | null {
  const most = usable - 35;
  const local = bytes <= most ? bytes : localBytes(bytes, { usable, most });
  if (at + local > usable) return null;
  const parts = [page.subarray(at, at + local)];
  let left = bytes - local;
  if (left > 0 && at + local + 4 > usable) return null;
  for (let next = left > 0 ? page.readUInt32BE(at + local) : 0; left > 0; ) {
    const overflow = pageAt(next);
    if (overflow === null) return null;
    const part = overflow.subarray(4, Math.min(usable, 4 + left));
    parts.push(part);
    left -= part.length;
    next = overflow.readUInt32BE(0);
  }
  return parts.length === 1 ? (parts[0] ?? null) : Buffer.concat(parts);
}

/** How much of a long row is on its own page. */
function localBytes(bytes: number, { usable, most }: { usable: number; most: number }): number {
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const some = least + ((bytes - least) % (usable - 4));
  return some <= most ? some : least;
}

function valuesOf(payload: Buffer): Value[] | null {
  const header = varint(payload, 0);
  if (header === null || header.value > payload.length) return null;
  const values: Value[] = [];
  let body = header.value;
  for (let at = header.next; at < header.value; ) {
    const type = varint(payload, at);
    if (type === null || type.next > header.value) return null;
    at = type.next;
    const bytes = bytesOf(type.value);
    if (bytes === null || body + bytes > payload.length) return null;
    const value = decodeValue(type.value, payload.subarray(body, body + bytes));
    if (value === undefined) return null;
    values.push(value);
    body += bytes;
  }
  return body === payload.length ? values : null;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];

function bytesOf(type: number): number | null {
  if (type >= 12) return Math.floor((type - 12) / 2);
  if (type === 7) return 8;
  if (type === 8 || type === 9) return 0;
  return INTEGER_BYTES[type] ?? null;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeValue(type: number, bytes: Buffer): Value | undefined {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return bytes.readDoubleBE(0);
  if (type === 6) return Number(bytes.readBigInt64BE(0));
  if (type < 6) return bytes.readIntBE(0, bytes.length);
  if (type % 2 === 0) return bytes;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Up to 8 bytes of 7 bits and one of 8. Null at the end of the bytes, and for what is no number of ours. */
function varint(bytes: Buffer, start: number): { readonly value: number; readonly next: number } | null {
  let value = 0;
  for (let index = 0; index < 9; index += 1) {
    const byte = bytes[start + index];
    if (byte === undefined) return null;
    if (index === 8) value = value * 256 + byte;
    else value = value * 128 + (byte & 0x7f);
    if (index === 8 || byte < 0x80) return Number.isSafeInteger(value) ? { value, next: start + index + 1 } : null;
  }
  return null;
}

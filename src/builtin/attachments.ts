/** What a user sends along: pictures and documents as the model takes them, text files as text. */

import { open } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { mediaTypes } from "../core/media-types.ts";
import type { UserParts } from "./conversation.ts";
import { isBinary } from "./tools/files.ts";

export interface Attached {
  readonly path: string;
  readonly mime?: string | undefined;
  readonly filename?: string | undefined;
}

const BYTES_LIMIT = 10 * 1024 * 1024;
const TEXT_LIMIT = 200_000;

/** What cannot be read is said in the text, so that neither the user nor the model is left to wonder. */
export async function readAttachments(
  attachments: readonly Attached[],
  { directory }: { directory: string },
): Promise<{ text: string; parts: UserParts }> {
  const texts: string[] = [];
  const parts: UserParts = [];
  for (const { path, mime, filename } of attachments) {
    const name = filename ?? basename(path);
    try {
      const bytes = await readBounded(resolve(directory, path));
      const type = mime ?? mediaTypes[extname(path).toLowerCase()] ?? "text/plain";
      if (type.startsWith("image/")) parts.push({ type: "image", image: bytes, mediaType: type });
      else if (type === "application/pdf") parts.push({ type: "file", data: bytes, mediaType: type, filename: name });
      else if (isBinary(bytes)) texts.push(`[attached file ${name}: binary, not shown]`);
      else texts.push(`<attachment name="${name}">\n${bytes.toString("utf8").slice(0, TEXT_LIMIT)}\n</attachment>`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      texts.push(`[attached file ${name} could not be read: ${why}]`);
    }
  }
  return { text: texts.map((text) => `\n\n${text}`).join(""), parts };
}

async function readBounded(path: string): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw new Error("it is no regular file");
    if (info.size > BYTES_LIMIT) throw new Error(`it has more than ${BYTES_LIMIT} bytes`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

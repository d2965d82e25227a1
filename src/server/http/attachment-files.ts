/** Files that came inside a request, kept as files of the data folder, which agents can read. */
import { createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { folderName } from "../../runtime/folder-name.ts";

/** All attachments of this data folder, and whose. */
export interface AttachmentPlace {
  readonly attachments: string;
  readonly session: string;
}

/** The session's own folder, deleted with it. */
export const folderOf = ({ attachments, session }: AttachmentPlace): string => join(attachments, folderName(session));

/** The session is gone: so are the files that came with its prompts. */
export const removeAttachments = (place: AttachmentPlace): Promise<void> =>
  rm(folderOf(place), { recursive: true, force: true });

export interface Content {
  readonly bytes: Buffer;
  readonly mime: string;
}

/** Named by its content, never by its sender. Gives its path. */
export async function keepFile({ bytes, mime }: Content, place: AttachmentPlace): Promise<string> {
  const folder = folderOf(place);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  const path = join(folder, `${name}${extension(mime)}`);
  await writeFile(path, bytes, { mode: 0o600 });
  return path;
}

const extension = (mime: string): string => {
  const [, kind] = /^[a-z]+\/([a-z0-9]+)/.exec(mime) ?? [];
  return kind === undefined ? "" : `.${kind === "plain" ? "txt" : kind}`;
};

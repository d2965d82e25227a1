/** An adopted conversation may be open in its agent's own program: meanwhile no prompt is taken here. */
import { ApiError } from "../../protocol/errors.ts";
import type { OpenSession } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";

export async function refuseInUse({ log }: Runtime, open: OpenSession): Promise<void> {
  const { settings, adapter, link } = open;
  if (settings.imported === undefined) return;
  const { filesOf } = await import("../../adapters/session-files.ts");
  const { openAgentFolder } = await import("../session-files/folder.ts");
  const { folderOf } = await import("../session-files/places.ts");
  const source = filesOf(adapter.agent);
  const nativeId = open.session.snapshot().native_session_id ?? settings.create.nativeSessionId;
  if (source === null || nativeId === undefined || link.isOpen()) return;
  const { files } = source;
  if (files.readOnly !== undefined) throw new ApiError("not_supported", files.readOnly);
  const path = folderOf(files, process.env);
  const folder = path === null ? null : openAgentFolder(path);
  try {
    const user = folder === null ? null : (files.userOf?.(folder, nativeId) ?? null);
    if (user === null) return;
    // An agent of ours that is just ending is none of the others.
    if ((await log.runs()).some(({ leader }) => leader?.pid === user.pid)) return;
    throw new ApiError(
      "conversation_in_use",
      `${adapter.name} has this conversation open in another process (${user.name}, pid ${user.pid}): end it there, or ` +
        "continue in a copy with `franca sessions fork`.",
    );
  } finally {
    folder?.close();
  }
}

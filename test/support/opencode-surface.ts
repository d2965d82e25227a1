/** A daemon with its OpenCode surface at hand. */
import { startDaemon } from "./daemon.ts";
import { openCodeApi } from "./opencode-client.ts";

export const text = (words: string) => ({ parts: [{ type: "text", text: words }] });

export async function openSurface(options: Parameters<typeof startDaemon>[0] = {}) {
  const daemon = await startDaemon(options);
  const base = `${daemon.url}/opencode`;
  const api = openCodeApi(base, { directory: daemon.directory });
  return { daemon, base, api, directory: daemon.directory };
}

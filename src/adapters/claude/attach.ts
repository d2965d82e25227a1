/** Pictures that come with a prompt: read first, then sent within the message, so that the model sees them at once. */
import type { Send } from "../../core/agent-io.ts";
import { HOST_CALL } from "../../core/host-call.ts";
import { isImage } from "../../core/media-types.ts";
import type { Report } from "../../core/report.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import type { Prompt } from "../../protocol/commands.ts";
import type { State } from "./state.ts";

/** A message that waits for its pictures, or for an earlier message that does. */
export interface Attaching {
  readonly prompt: Prompt;
  /** Calls that read a picture, in the order of the attachments. */
  readonly calls: readonly string[];
  readonly read: Map<string, unknown>;
}

/** What reads the pictures of a prompt; null when it can be sent as it is. */
export function readPictures(state: State, prompt: Prompt): Send[] | null {
  const pictures = prompt.attachments.filter(isImage);
  if (pictures.length === 0 && state.attaching.length === 0) return null;
  const sends = pictures.map(({ path }): Send => {
    state.requests += 1;
    return { type: "send.host", id: `${HOST_CALL}attach/${state.requests}`, call: { type: "file.attach", path } };
  });
  const calls = sends.flatMap((send) => (send.type === "send.host" ? [send.id] : []));
  state.attaching.push({ prompt, calls, read: new Map() });
  return sends;
}

/** A picture was read, or could not be: its path stands in the message in any case. */
export function onPicture(
  state: State,
  { id, status, body }: { readonly id: string; readonly status: number; readonly body: unknown },
): { readonly reports: Report[]; readonly ready: readonly Attaching[] } {
  const { data, mime, message } = shapeOf(body);
  const isRead = status === 200 && isString(data);
  const block = isRead ? { type: "image", source: { type: "base64", media_type: mime, data } } : null;
  state.attaching.find(({ calls }) => calls.includes(id))?.read.set(id, block);
  const firstWaiting = state.attaching.findIndex(({ calls, read }) => calls.length > read.size);
  const ready = state.attaching.splice(0, firstWaiting === -1 ? state.attaching.length : firstWaiting);
  const unreadable = { type: "error", message: String(message), code: "attachment_unreadable", fatal: false } as const;
  return { reports: isRead ? [] : [unreadable], ready };
}

export const picturesOf = ({ calls, read }: Attaching): readonly unknown[] =>
  calls.map((call) => read.get(call)).filter((block) => block !== null);

/** What OpenCode answers to what was asked beside turns. Its event stream says the same, before or after. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import type { OpenCodeSession } from "../../dialects/opencode.ts";
import type { MessagePlace, Revert } from "../../protocol/events.ts";
import type { State } from "./state.ts";

/** The event comes soon after the answer, or before it: no more need be known. */
const GONE_REMEMBERED = 1_000;

/** Every answer goes back to the caller, errors too. */
export function answerTo(
  state: State,
  { id, status, body }: { id: string; status: number; body: unknown },
): readonly Report[] {
  const ask_id = state.asks.get(id);
  state.asks.delete(id);
  return ask_id === undefined ? [] : [{ type: "answer", ask_id, status, body }];
}

/** Only what was asked for: the rest of the answer may be older than the events. */
export function onChanged(about: "revert" | "unrevert" | "share" | "unshare", info: OpenCodeSession): Report[] {
  switch (about) {
    case "revert":
    case "unrevert":
      return [{ type: "session", revert: revertOf(info) }];
    case "share":
      return [{ type: "session", share: shareOf(info) }];
    case "unshare":
      // Quirk: this answer still has the address that was taken away (transcripts/opencode/share).
      return [{ type: "session", share: null }];
  }
}

export function revertOf({ revert }: OpenCodeSession): Revert | null {
  if (revert === undefined) return null;
  const { messageID: message_id, partID, snapshot, diff } = revert;
  return defined({ message_id, native_item_id: partID, snapshot, diff });
}

export const shareOf = ({ share }: OpenCodeSession) => (share === undefined ? null : { url: share.url });

/** Which part of the conversation a request takes out; null when it takes out none. */
export function placeIn({ method, path }: { readonly method: string; readonly path: string }): MessagePlace | null {
  const [, message_id, native_item_id] = /^\/session\/[^/]+\/message\/([^/?]+)(?:\/part\/([^/?]+))?/.exec(path) ?? [];
  if (method !== "DELETE" || message_id === undefined) return null;
  return defined({ message_id, native_item_id });
}

export function onRemoval(state: State, id: string): Report[] {
  const place = state.removals.get(id);
  state.removals.delete(id);
  return place === undefined ? [] : onRemoved(state, place);
}

export function onRemoved(state: State, place: MessagePlace): Report[] {
  const name = `${place.message_id}/${place.native_item_id ?? ""}`;
  if (state.gone.has(name)) return [];
  if (state.gone.size >= GONE_REMEMBERED) state.gone = new Set();
  state.gone.add(name);
  return [{ type: "removed", place }];
}

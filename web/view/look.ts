/** To the moment right after an event, in the conversation. */
import { go } from "../state/route.ts";
import { indexOf, lookAt, type SessionStore } from "../state/store.ts";

export function lookAtEvent(store: SessionStore, sequence: number): void {
  lookAt(store, indexOf(store, sequence) + 1);
  if (store.kind === "recording") go({ page: "recording", view: "conversation" });
  else go({ page: "session", id: store.id, view: "conversation" });
}

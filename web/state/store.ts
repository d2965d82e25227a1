/** One session or recording that is open: its events, the conversation they make, and the moment that is looked at. */
import { type Signal, signal } from "@preact/signals";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { applyEvent, foldConversation } from "../model/conversation.ts";
import { type Conversation, emptyConversation } from "../model/conversation-state.ts";
import type { Group } from "../model/lanes.ts";

export interface SessionStore {
  readonly id: string;
  /** A recording has no daemon: nobody can be prompted or answered. */
  readonly kind: "session" | "recording";
  readonly name: string | null;
  /** Without a gap, from the first that was loaded. */
  events: UniversalEvent[];
  live: Conversation;
  /** Grows whenever events were added. Views that show the conversation read it. */
  readonly rev: Signal<number>;
  /** How many of the events are looked at; null for all of them and those to come. */
  readonly at: Signal<number | null>;
  readonly progress: Signal<Progress>;
  /** Older events are in the log. */
  readonly hasEarlier: Signal<boolean>;
  /** Of a recording: its lines with what they led to. */
  readonly groups: readonly Group[];
}

export type Progress =
  | { readonly state: "loading"; readonly words: string }
  | { readonly state: "ready" }
  | { readonly state: "missing"; readonly message: string };

export function createStore({
  id,
  kind,
  name = null,
  groups = [],
}: Pick<SessionStore, "id" | "kind"> & {
  readonly name?: string | null;
  readonly groups?: readonly Group[];
}): SessionStore {
  return {
    id,
    kind,
    name,
    events: [],
    live: emptyConversation(),
    rev: signal(0),
    at: signal(null),
    progress: signal<Progress>({ state: "loading", words: "Loading…" }),
    hasEarlier: signal(false),
    groups,
  };
}

export function addEvents(store: SessionStore, events: readonly UniversalEvent[]): void {
  for (const event of events) {
    store.events.push(event);
    applyEvent(store.live, event);
  }
  if (events.length > 0) store.rev.value += 1;
}

let past: { readonly store: SessionStore; readonly at: number; readonly conversation: Conversation } | null = null;
let shown: { readonly store: SessionStore; readonly rev: number; readonly conversation: Conversation } | null = null;

/**
 * The conversation now, or at the moment that is looked at. A new object for each revision: the fold changes its state
 * in place, and a view is drawn again only when what it is given is another object.
 */
export function shownConversation(store: SessionStore): Conversation {
  const rev = store.rev.value;
  const at = store.at.value;
  if (at === null || at >= store.events.length) {
    if (shown?.store !== store || shown.rev !== rev) shown = { store, rev, conversation: { ...store.live } };
    return shown.conversation;
  }
  if (past?.store === store && past.at === at) return past.conversation;
  past = { store, at, conversation: foldConversation(store.events.slice(0, at)) };
  return past.conversation;
}

/** Where the moment is in the session: 28 of 47. */
export function placeOf(store: SessionStore): {
  readonly sequence: number;
  readonly last: number;
  readonly time: string;
} {
  const at = store.at.value ?? store.events.length;
  const event = store.events[Math.max(0, at - 1)];
  const last = store.events.at(-1)?.sequence ?? 0;
  return { sequence: event?.sequence ?? 0, last, time: event?.time ?? "" };
}

/** Looks at the moment right after an event; `null` is now. */
export function lookAt(store: SessionStore, at: number | null): void {
  const bounded = at === null || at >= store.events.length ? null : Math.max(0, at);
  store.at.value = bounded;
}

/** The place of an event in the store by its sequence. */
export function indexOf(store: SessionStore, sequence: number): number {
  const first = store.events[0]?.sequence ?? 1;
  return Math.min(Math.max(0, sequence - first), Math.max(0, store.events.length - 1));
}

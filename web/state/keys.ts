/** The keyboard. Single letters never fire while one types; Enter and Space allow nothing by themselves. */
import { signal } from "@preact/signals";
import { abort } from "./actions.ts";
import { go, goView, linkTo, route } from "./route.ts";
import { current } from "./session.ts";
import { allRows, needing } from "./sessions.ts";
import { toggleTheme } from "./theme.ts";

export const isPaletteOpen = signal(false);
export const areKeysOpen = signal(false);
/** Escape was pressed once: again stops the turn. */
export const armed = signal(false);

const ARMED_MS = 2_000;
const CHORD_MS = 1_200;

type Handler = (event: KeyboardEvent) => boolean;

/** Handlers of the view that is shown; true when the key was theirs. */
const handlers = new Set<Handler>();

export function onKeys(handler: Handler): () => void {
  handlers.add(handler);
  return () => void handlers.delete(handler);
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (take(event)) event.preventDefault();
  });
}

let chordUntil = 0;

function take(event: KeyboardEvent): boolean {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    isPaletteOpen.value = !isPaletteOpen.value;
    return true;
  }
  if (event.key === "Escape") return pressEscape();
  if (isTyping(event) || event.metaKey || event.ctrlKey) return false;
  if (isPaletteOpen.value || areKeysOpen.value) return false;
  if (Date.now() < chordUntil && goTo(event.key)) return true;
  if (answerCard(event)) return true;
  for (const handler of handlers) if (handler(event)) return true;
  return takeGlobal(event);
}

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

/** Closes what is open; with nothing open it arms the stop, and again stops. */
function pressEscape(): boolean {
  if (isPaletteOpen.value || areKeysOpen.value) {
    isPaletteOpen.value = false;
    areKeysOpen.value = false;
    return true;
  }
  const focused = document.activeElement;
  if (focused instanceof HTMLInputElement || focused instanceof HTMLTextAreaElement) {
    focused.blur();
    return true;
  }
  const store = current.value;
  if (store === null || store.live.turn === null) return false;
  if (armed.value) {
    armed.value = false;
    void abort(store.id);
    return true;
  }
  armed.value = true;
  setTimeout(() => {
    armed.value = false;
  }, ARMED_MS);
  return true;
}

function goTo(key: string): boolean {
  chordUntil = 0;
  const views = { c: "conversation", l: "lanes", t: "timeline" } as const;
  const letter = key.toLowerCase();
  if (letter !== "c" && letter !== "l" && letter !== "t") return false;
  goView(views[letter]);
  return true;
}

function takeGlobal(event: KeyboardEvent): boolean {
  switch (event.key) {
    case "?":
      areKeysOpen.value = true;
      return true;
    case "/":
      focusOn("lane-search") || focusOn("session-search");
      return true;
    case "n":
      go({ page: "new" });
      return true;
    case "g":
      chordUntil = Date.now() + CHORD_MS;
      return true;
    case "d":
      toggleTheme();
      return true;
    case "[":
      return step(-1);
    case "]":
      return step(1);
    case "!":
      return nextNeeding();
    default:
      return false;
  }
}

function focusOn(id: string): boolean {
  const element = document.getElementById(id);
  element?.focus();
  return element !== null;
}

function step(by: number): boolean {
  const here = route.value;
  const rows = allRows.value;
  const at = here.page === "session" ? rows.findIndex(({ sessionId }) => sessionId === here.id) : -1;
  const next = rows[at === -1 ? 0 : (at + by + rows.length) % Math.max(1, rows.length)];
  if (next === undefined) return false;
  go({ page: "session", id: next.sessionId, view: here.page === "session" ? here.view : "conversation" });
  return true;
}

function nextNeeding(): boolean {
  const here = route.value;
  const rows = needing.value;
  const at = here.page === "session" ? rows.findIndex(({ sessionId }) => sessionId === here.id) : -1;
  const next = rows[(at + 1) % Math.max(1, rows.length)];
  if (next === undefined) return false;
  const link = linkTo({ page: "session", id: next.sessionId, view: "conversation" });
  if (location.hash === link) focusCard();
  else location.hash = link;
  return true;
}

/** The first card that waits gets the focus: its keys work then. */
export function focusCard(): boolean {
  const card = document.querySelector("[data-card]");
  if (!(card instanceof HTMLElement)) return false;
  card.focus();
  card.scrollIntoView({ block: "nearest" });
  return true;
}

/** Keys of the card that has the focus, or holds it. */
function answerCard(event: KeyboardEvent): boolean {
  const card = document.activeElement?.closest("[data-card]");
  if (!(card instanceof HTMLElement)) return false;
  const press = (selector: string): boolean => {
    const button = card.querySelector(selector);
    if (!(button instanceof HTMLButtonElement) || button.disabled) return false;
    button.click();
    return true;
  };
  switch (event.key) {
    case "a":
      return press('[data-reply="once"]');
    case "A":
      return press('[data-reply="always"]');
    case "r":
      return press('[data-reply="reject"]');
    case "R":
      return press('[data-reply="message"]');
    case "Enter":
      // Only for questions, and only while no button has the focus.
      return document.activeElement === card && press('[data-reply="answer"]');
    default:
      return /^[1-9]$/.test(event.key) && press(`[data-choice="${event.key}"]`);
  }
}

/** Keys of the conversation: from one entry to the next, everything open or folded, and why an entry exists. */
import { batch } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sequenceOf } from "../model/entry-sequence.ts";
import { onKeys } from "../state/keys.ts";
import type { SessionStore } from "../state/store.ts";
import { why } from "./end-line.tsx";

export function useConversationKeys(store: SessionStore): void {
  useEffect(
    () =>
      onKeys((event) => {
        switch (event.key) {
          case "j":
            return move(1);
          case "k":
            return move(-1);
          case "e":
            return foldAll();
          case "w":
            return showWhy(store);
          default:
            return false;
        }
      }),
    [store],
  );
}

const flow = (): HTMLElement | null => document.querySelector<HTMLElement>(".flow");

const entries = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(".flow [data-entry]")];

/** The entry that has the focus, or holds it. */
const focused = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>(".flow [data-entry]") ?? null;

/** Without a focused entry it begins with the first, or the last, that is in sight. */
function move(by: 1 | -1): boolean {
  const all = entries();
  const from = focused();
  const next = from === null ? inSight(all, by) : all[all.indexOf(from) + by];
  if (next === undefined) return from !== null;
  const fold = next.matches("button") ? next : (next.querySelector<HTMLElement>(":scope > .fold") ?? next);
  if (!fold.matches("button, [tabindex]")) fold.tabIndex = -1;
  fold.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function inSight(all: readonly HTMLElement[], by: 1 | -1): HTMLElement | undefined {
  const frame = flow()?.getBoundingClientRect();
  if (frame === undefined) return undefined;
  const seen = all.filter((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return bottom > frame.top && top < frame.bottom;
  });
  return by > 0 ? seen[0] : seen.at(-1);
}

/** Opens whatever is folded; with nothing folded, folds all. */
function foldAll(): boolean {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>(".flow button[aria-expanded]")];
  const closed = buttons.filter((button) => button.getAttribute("aria-expanded") === "false");
  batch(() => {
    for (const button of closed.length > 0 ? closed : buttons) button.click();
  });
  return buttons.length > 0;
}

/** Of the entry that has the focus; else of the last turn's end. */
function showWhy(store: SessionStore): boolean {
  const key = focused()?.dataset.entry ?? lastEnd(store);
  const sequence = key === null ? null : sequenceOf(store.events, key);
  if (sequence === null) return false;
  why(store, { sequence });
  return true;
}

function lastEnd({ live }: SessionStore): string | null {
  const turn = live.turns.findLast(({ end }) => end !== null);
  return turn === undefined ? null : `end ${turn.id}`;
}

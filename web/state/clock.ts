/** The time, as far as the page shows it: once a second while somebody looks. */
import { signal } from "@preact/signals";

const TICK_MS = 1_000;

export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, TICK_MS);
document.addEventListener("visibilitychange", () => {
  now.value = Date.now();
});

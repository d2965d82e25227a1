/** Whether there is room for one pane only, as on a phone. */
import { signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 759px)");

export const isNarrow = signal(narrow.matches);

narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});

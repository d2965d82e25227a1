/** Which event is selected in the lanes: shared by the views that lead there. */
import { signal } from "@preact/signals";

/** The sequence of the selected event; null when none is. */
export const selected = signal<number | null>(null);

export function selectSequence(sequence: number): void {
  selected.value = sequence;
}

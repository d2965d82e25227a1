/** Panels that have no room beside their view come as a sheet from the right. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Icon } from "./icons.tsx";

export const isPanelOpen = signal(false);

export function openPanel(): void {
  isPanelOpen.value = true;
}

interface SheetProps {
  readonly label: string;
  readonly onClose: () => void;
  readonly side?: boolean;
  readonly children: ComponentChildren;
}

/** A dialog over the page: Escape and a click beside it close it. */
export function Sheet({ label, onClose, side = false, children }: SheetProps) {
  useEffect(() => {
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopImmediatePropagation();
      onClose();
    };
    addEventListener("keydown", close, { capture: true });
    return () => removeEventListener("keydown", close, { capture: true });
  }, [onClose]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    // biome-ignore lint/a11y/noStaticElementInteractions: a click beside the sheet closes it, and so does its button
    <div
      class="veil"
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div class={side ? "sheet side-sheet panel" : "sheet"} role="dialog" aria-modal="true" aria-label={label}>
        {side && (
          <header>
            <span class="grow">{label}</span>
            <button type="button" class="btn icon" aria-label="Close" onClick={onClose}>
              <Icon sign="close" />
            </button>
          </header>
        )}
        {children}
      </div>
    </div>
  );
}

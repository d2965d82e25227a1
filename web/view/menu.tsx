/** A button with a list of actions under it. Closes at a choice, a click elsewhere, or Escape. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

export function Menu({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const open = useSignal(false);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const isInside = event.target instanceof Node && frame.current?.contains(event.target) === true;
      if (event.type === "pointerdown" && isInside) return;
      if (event instanceof KeyboardEvent && event.key !== "Escape") return;
      open.value = false;
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [open]);
  return (
    <div class="menu" ref={frame}>
      <button
        type="button"
        class="btn icon"
        aria-label={label}
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon sign="more" />
      </button>
      {open.value && (
        // biome-ignore lint/a11y/noStaticElementInteractions: the choices are buttons, this only closes after them
        <div
          onClick={() => {
            open.value = false;
          }}
          onKeyDown={() => {}}
        >
          {children}
        </div>
      )}
    </div>
  );
}

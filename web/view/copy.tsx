/** A button that copies exactly what it stands beside. */
import { useSignal } from "@preact/signals";
import { say } from "../state/announce.ts";
import { Icon } from "./icons.tsx";

const SHOWN_MS = 1_500;

export function CopyButton({
  text,
  what,
  label,
}: {
  /** A function where the text is long and seldom wanted. */
  readonly text: string | (() => string);
  readonly what: string;
  readonly label?: string;
}) {
  const done = useSignal(false);
  const copy = async (event: Event): Promise<void> => {
    event.stopPropagation();
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    done.value = true;
    say(`Copied the ${what}.`);
    setTimeout(() => {
      done.value = false;
    }, SHOWN_MS);
  };
  return (
    <button
      type="button"
      class={label === undefined ? "copy" : "btn ghost"}
      onClick={copy}
      aria-label={label ?? `Copy the ${what}`}
    >
      {label === undefined ? done.value ? "Copied" : <Icon sign="copy" /> : done.value ? "Copied" : label}
    </button>
  );
}

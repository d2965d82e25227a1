/** The shapes of the page. Status has one shape each, so that it is never said by colour alone. */
import type { JSX } from "preact";
import { type Shape, shapeWords } from "../model/words.ts";

const line = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": "1.5",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
} as const;

const shapes: Readonly<Record<Shape, JSX.Element>> = {
  idle: <circle cx="7" cy="7" r="4.5" {...line} />,
  running: <circle cx="7" cy="7" r="5" {...line} stroke-width="2" stroke-dasharray="22 9.4" />,
  needs: (
    <>
      <path d="M7 .7 13.3 7 7 13.3.7 7Z" fill="var(--need-fill)" stroke="var(--need-line)" />
      <path d="M7 3.6v4M7 9.6v.3" stroke="var(--on-need)" stroke-width="1.7" stroke-linecap="round" />
    </>
  ),
  retrying: <path d="M11.7 8.3A5 5 0 1 1 11 4.1M11.4 1.2v3.2H8.2" {...line} stroke-width="1.6" />,
  compacting: <path d="M1.5 7h11M7 .8v3.6M5.2 3 7 4.8 8.8 3M7 13.2V9.6M5.2 11 7 9.2 8.8 11" {...line} />,
  completed: <path d="m2.2 7.4 3.2 3.2 6.4-7" {...line} stroke-width="1.8" />,
  failed: (
    <>
      <path d="M4.2.5h5.6l3.7 3.7v5.6l-3.7 3.7H4.2L.5 9.8V4.2Z" fill="currentColor" />
      <path d="m4.7 4.7 4.6 4.6m0-4.6L4.7 9.3" stroke="var(--bg)" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  stopped: <rect x="2.5" y="2.5" width="9" height="9" rx="1.5" {...line} />,
};

/** With its word, unless the word stands beside it. */
export function Status({ shape, named = false }: { readonly shape: Shape; readonly named?: boolean }) {
  return (
    <svg
      class={`i ${shape} c-${shape}`}
      viewBox="0 0 14 14"
      role="img"
      aria-label={named ? undefined : shapeWords[shape]}
      aria-hidden={named}
    >
      {shapes[shape]}
    </svg>
  );
}

const signs = {
  right: <path d="m5 3 4 4-4 4" {...line} />,
  down: <path d="m3 5 4 4 4-4" {...line} />,
  left: <path d="m9 3-4 4 4 4" {...line} stroke-width="1.8" />,
  play: <path d="M3.5 1.8v10.4L12 7Z" fill="currentColor" />,
  pause: <path d="M3.5 2h2.6v10H3.5ZM8 2h2.6v10H8Z" fill="currentColor" />,
  search: <path d="M6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4Zm3.2 7.4 3.3 3.3" {...line} />,
  clip: (
    <path
      d="M11.5 6.3 6.7 11a2.9 2.9 0 0 1-4.1-4.1l5-5a1.9 1.9 0 0 1 2.8 2.7L5.5 9.4a1 1 0 0 1-1.4-1.4l4.4-4.4"
      {...line}
      stroke-width="1.3"
    />
  ),
  radio: (
    <>
      <circle cx="7" cy="7" r="5.5" {...line} />
      <circle cx="7" cy="7" r="2.8" fill="currentColor" />
    </>
  ),
  ring: <circle cx="7" cy="7" r="5.5" {...line} />,
  half: (
    <>
      <circle cx="7" cy="7" r="5" {...line} />
      <path d="M7 4.2a2.8 2.8 0 0 1 0 5.6Z" fill="currentColor" />
    </>
  ),
  box: <rect x="1.75" y="1.75" width="10.5" height="10.5" rx="2.5" {...line} />,
  checked: (
    <>
      <rect x="1" y="1" width="12" height="12" rx="3" fill="currentColor" />
      <path d="m3.8 7.2 2.2 2.2 4.2-4.6" fill="none" stroke="var(--bg)" stroke-width="1.7" stroke-linecap="round" />
    </>
  ),
  close: <path d="m3.2 3.2 7.6 7.6m0-7.6-7.6 7.6" {...line} />,
  more: <path d="M3 7h.01M7 7h.01M11 7h.01" {...line} stroke-width="2.2" />,
  plus: <path d="M7 2.5v9M2.5 7h9" {...line} />,
  panel: <path d="M2 2.5h10v9H2ZM8.5 2.5v9" {...line} />,
  copy: <path d="M4.8 4.8h7v7h-7ZM2.2 9.2v-7h7" {...line} stroke-width="1.3" />,
  sun: (
    <path
      d="M7 4.4a2.6 2.6 0 1 1 0 5.2 2.6 2.6 0 0 1 0-5.2ZM7 .9v1M7 12.1v1M.9 7h1M12.1 7h1M2.7 2.7l.7.7M10.6 10.6l.7.7M2.7 11.3l.7-.7M10.6 3.4l.7-.7"
      {...line}
      stroke-width="1.3"
    />
  ),
} as const;

export type Sign = keyof typeof signs;

export function Icon({ sign }: { readonly sign: Sign }) {
  return (
    <svg class="i" viewBox="0 0 14 14" aria-hidden="true">
      {signs[sign]}
    </svg>
  );
}

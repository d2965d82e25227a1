/** JSON with keys, texts and numbers in their colours, and hidden characters written out. */
import type { ComponentChildren } from "preact";
import { exactText } from "../model/plain.ts";

/** A text of this length is cut here; copying gives the whole. */
const MOST_TEXT = 4_000;
/** Maximum depth that is drawn; deeper values are one line of text. */
const MAX_DEPTH = 24;
/** Maximum number of members of an object or array that are drawn, and of all of them together. */
const MAX_MEMBERS = 1_000;
const MAX_TOTAL = 5_000;

export function Json({ value }: { readonly value: unknown }) {
  return (
    <pre class="json" tabIndex={0}>
      {drawn(value, { depth: 0, left: { members: MAX_TOTAL } })}
    </pre>
  );
}

interface Drawing {
  readonly depth: number;
  /** Number of members that may still be drawn, counted down in place. */
  readonly left: { members: number };
}

function drawn(value: unknown, { depth, left }: Drawing): ComponentChildren {
  if (typeof value === "string") return <span class="s">{quoted(value)}</span>;
  if (typeof value === "number" || typeof value === "boolean" || value === null || value === undefined) {
    return <span class="n">{String(value ?? null)}</span>;
  }
  if (typeof value !== "object") return String(value);
  if (depth > MAX_DEPTH) return <span class="s">{exactText(clipped(JSON.stringify(value)))}</span>;
  const pad = "  ".repeat(depth + 1);
  const isList = Array.isArray(value);
  const all = Object.entries(value).filter(([, one]) => one !== undefined);
  if (all.length === 0) return isList ? "[]" : "{}";
  const entries = all.slice(0, Math.min(MAX_MEMBERS, left.members));
  left.members -= entries.length;
  return (
    <>
      {isList ? "[" : "{"}
      {entries.map(([name, one], index) => (
        <span key={name}>
          {`\n${pad}`}
          {!isList && (
            <>
              <span class="k">{quoted(name)}</span>
              {": "}
            </>
          )}
          {drawn(one, { depth: depth + 1, left })}
          {index < all.length - 1 && ","}
        </span>
      ))}
      {entries.length < all.length && `\n${pad}… ${all.length - entries.length} more`}
      {`\n${"  ".repeat(depth)}${isList ? "]" : "}"}`}
    </>
  );
}

const quoted = (text: string): string => exactText(JSON.stringify(clipped(text)));

const clipped = (text: string): string =>
  text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}… (${text.length} characters)` : text;

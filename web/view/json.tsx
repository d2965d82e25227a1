/** JSON with keys, texts and numbers in their colours, and hidden characters written out. */
import type { ComponentChildren } from "preact";
import { exactText } from "../model/plain.ts";

/** A text of this length is cut here; copying gives the whole. */
const MOST_TEXT = 4_000;

export function Json({ value }: { readonly value: unknown }) {
  return (
    <pre class="json" tabIndex={0}>
      {drawn(value, 0)}
    </pre>
  );
}

function drawn(value: unknown, depth: number): ComponentChildren {
  if (typeof value === "string") return <span class="s">{quoted(value)}</span>;
  if (typeof value === "number" || typeof value === "boolean" || value === null || value === undefined) {
    return <span class="n">{String(value ?? null)}</span>;
  }
  if (typeof value !== "object" || depth > 24) return String(value);
  const pad = "  ".repeat(depth + 1);
  const isList = Array.isArray(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  if (entries.length === 0) return isList ? "[]" : "{}";
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
          {drawn(one, depth + 1)}
          {index < entries.length - 1 && ","}
        </span>
      ))}
      {`\n${"  ".repeat(depth)}${isList ? "]" : "}"}`}
    </>
  );
}

function quoted(text: string): string {
  const shown = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}… (${text.length} characters)` : text;
  return exactText(JSON.stringify(shown));
}

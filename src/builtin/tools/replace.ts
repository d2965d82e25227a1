/** Exact replacement with errors that help: how often the text was found, where, and what came nearest. Pure. */
import { findSequence } from "../../permissions/sequence.ts";

export interface Replacement {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll?: boolean | undefined;
}

export type Replaced = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

const PLACES_SHOWN = 5;
const NEAR_LINES = 6;
const COMPARE_LIMIT = 20_000;

export function replaceText(text: string, replacement: Replacement): Replaced {
  const { replaceAll = false } = replacement;
  if (replacement.oldString === "")
    return no("oldString is empty. Use the write tool to create or replace a whole file.");
  if (replacement.oldString === replacement.newString)
    return no("oldString and newString are the same: nothing to change.");
  const { oldString, newString } = inLineEndsOf(text, replacement);
  const places = findAll(text, oldString);
  if (places.length === 0) return no(notFound(text, oldString));
  if (places.length > 1 && !replaceAll) {
    const lines = places.slice(0, PLACES_SHOWN).map((place) => lineAt(text, place));
    return no(
      `oldString was found ${places.length} times (lines ${lines.join(", ")}${places.length > PLACES_SHOWN ? ", …" : ""}). ` +
        "Add lines around it so that it names one place, or set replaceAll.",
    );
  }
  return { ok: true, text: text.split(oldString).join(newString) };
}

const no = (message: string): Replaced => ({ ok: false, message });

/** Models write bare newlines; a file that has carriage returns keeps them. */
function inLineEndsOf(text: string, { oldString, newString }: Replacement): Replacement {
  if (text.includes(oldString) || !text.includes("\r\n") || oldString.includes("\r\n")) return { oldString, newString };
  const convert = (one: string): string => one.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n");
  return { oldString: convert(oldString), newString: convert(newString) };
}

function findAll(text: string, part: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function notFound(text: string, wanted: string): string {
  const what = "oldString was not found in the file.";
  const lines = text.split("\n");
  const loose = wanted.split("\n").map((line) => line.trim());
  const size = loose.length;
  const first = loose.findIndex((line) => line !== "");
  if (first < 0 || lines.length > COMPARE_LIMIT) return `${what} Read the file again and copy the text exactly.`;

  const trimmed = lines.map((line) => line.trim());
  const at = findSequence(loose, { text: trimmed });
  if (at >= 0) {
    return `${what} Lines ${at + 1} to ${at + size} differ from it only in white space. They are:\n${quote(lines, at, size)}`;
  }
  const near = trimmed.indexOf(loose[first] ?? "");
  if (near >= 0) {
    const start = Math.max(0, near - first);
    return `${what} Its first line is there, but what follows differs. From line ${start + 1} the file has:\n${quote(lines, start, Math.min(size + 2, NEAR_LINES))}`;
  }
  return `${what} Read the file again and copy the text exactly, white space included.`;
}

const quote = (lines: readonly string[], start: number, count: number): string =>
  lines
    .slice(start, start + count)
    .map((line) => line.replace(/\r$/, ""))
    .join("\n");

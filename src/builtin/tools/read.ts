/** read: the lines of a file, numbered, as many as fit. */
import { StringDecoder } from "node:string_decoder";
import * as z from "zod";
import { isBinary, openFile } from "./files.ts";
import { enter, permitPath } from "./permits.ts";
import { defineTool, ToolFailure } from "./tool.ts";

const LINES = 2_000;
const LINE_LENGTH = 2_000;
const CHARACTERS = 50_000;
const CHUNK_BYTES = 64 * 1024;

export const read = defineTool({
  name: "read",
  kind: "tool",
  description:
    "Reads a text file and returns its lines with their numbers. Long files come in parts: use offset (the first " +
    `line, counted from 1) and limit (at most ${LINES} lines) to read on. Read a file before you change it.`,
  input: z.object({
    filePath: z.string().min(1).describe("The file, relative to the working directory or absolute"),
    offset: z.number().int().min(0).optional().describe("The first line to read, from 1"),
    limit: z.number().int().min(1).optional().describe("How many lines to read"),
  }),
  title: ({ filePath }) => filePath,
  async run({ filePath, offset, limit }, context) {
    const place = await enter(context, { written: filePath, action: "read", tool: "read" });
    await permitPath(context, { place, action: "read", tool: "read" });
    const { handle, size, stamp } = await openFile(place);
    try {
      const first = Math.max(1, offset ?? 1);
      const window = { first, count: Math.min(limit ?? LINES, LINES) };
      const { lines, more, total } = await readLines({ handle, shown: place.shown, window, signal: context.signal });
      context.files.seen.set(place.path, stamp);
      if (size === 0) return { output: "(the file is empty)", files: [{ path: place.path, action: "read" }] };
      if (lines.length === 0) throw new ToolFailure(`${place.shown} has only ${total} lines.`);
      const next = first + lines.length;
      const rest = more ? `\n\n(more lines follow: go on with offset ${next})` : `\n\n(end of file, ${next - 1} lines)`;
      return { output: lines.join("\n") + rest, files: [{ path: place.path, action: "read" }] };
    } finally {
      await handle.close();
    }
  },
});

interface ReadOptions {
  readonly handle: Awaited<ReturnType<typeof openFile>>["handle"];
  readonly shown: string;
  readonly window: { readonly first: number; readonly count: number };
  readonly signal: AbortSignal;
}

interface Lines {
  readonly lines: string[];
  /** There is more of the file than was taken. */
  more: boolean;
  total: number;
}

/** Reads no further than it must, and holds no more than it returns: files may be larger than memory. */
async function readLines({ handle, shown, window, signal }: ReadOptions): Promise<Lines> {
  const out: Lines = { lines: [], more: false, total: 0 };
  const decoder = new StringDecoder("utf8");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let rest = "";
  let characters = 0;
  const take = (line: string): boolean => {
    out.total += 1;
    if (out.total < window.first) return true;
    if (out.lines.length >= window.count || characters > CHARACTERS) {
      out.more = true;
      return false;
    }
    const shownLine = line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}… (line cut)` : line;
    characters += shownLine.length;
    out.lines.push(`${String(out.total).padStart(6)}\t${shownLine.replace(/\r$/, "")}`);
    return true;
  };
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    const bytes = buffer.subarray(0, bytesRead);
    if (position === 0 && isBinary(bytes))
      throw new ToolFailure(`${shown} is a binary file and cannot be read as text.`);
    position += bytesRead;
    const parts = (rest + decoder.write(bytes)).split("\n");
    rest = (parts.pop() ?? "").slice(0, CHARACTERS);
    for (const part of parts) if (!take(part)) return out;
  }
  rest += decoder.end();
  if (rest !== "") take(rest);
  return out;
}

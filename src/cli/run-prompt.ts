/** The prompt of `franca run`: words of the command line, standard input, or both; and the files that go with it. */
import { fstatSync, statSync } from "node:fs";
import { extname, resolve } from "node:path";
import type { Attachment } from "../protocol/commands.ts";
import { UsageError } from "./usage.ts";

const MAX_PROMPT_BYTES = 10 * 1024 * 1024;
/** Beside a prompt, a pipe that stays silent for so long is taken for one that nobody writes to. */
const SILENCE_MS = 3_000;

const NO_PROMPT = 'There is no prompt. Try: franca run "What does this project do?"';

/** `hint`: what else may be wrong when there is no prompt. */
export async function promptText(words: readonly string[], { hint = NO_PROMPT } = {}): Promise<string> {
  const given = words.join(" ").trim();
  const wantsInput = given === "" || given === "-";
  if (wantsInput && process.stdin.isTTY) throw new UsageError(hint);
  const input = wantsInput
    ? await readInput({ silenceMs: null })
    : isPiped()
      ? await readInput({ silenceMs: SILENCE_MS })
      : "";
  const text = [wantsInput ? "" : given, input].filter((part) => part !== "").join("\n\n");
  if (text === "") throw new UsageError(hint);
  return text;
}

/** Whether a shell gave us a file or another command's output; not so the sockets that programs start us with. */
function isPiped(): boolean {
  if (process.stdin.isTTY) return false;
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || (stats.isFile() && stats.size > 0);
  } catch {
    return false;
  }
}

async function readInput({ silenceMs }: { silenceMs: number | null }): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = silenceMs === null ? null : setTimeout(() => process.stdin.destroy(), silenceMs);
  try {
    for await (const chunk of process.stdin) {
      if (timer !== null) clearTimeout(timer);
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MAX_PROMPT_BYTES) throw new UsageError(`The prompt is longer than ${MAX_PROMPT_BYTES} bytes.`);
      chunks.push(bytes);
    }
  } catch (error) {
    // Destroyed by the timer: nobody writes to it.
    if (error instanceof UsageError || chunks.length > 0 || silenceMs === null) throw error;
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
  return Buffer.concat(chunks).toString("utf8").trim();
}

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

export interface FileFlags {
  readonly file?: readonly string[];
  readonly image?: readonly string[];
}

/** Looked at before anything is started: a wrong path is wrong usage. */
export function attachmentsFrom({ file = [], image = [] }: FileFlags): Attachment[] {
  return [
    ...file.map((path) => attachment(path, { flag: "--file" })),
    ...image.map((path) => {
      const mime = IMAGES[extname(path).toLowerCase()];
      const known = Object.keys(IMAGES).join(", ");
      if (mime === undefined)
        throw new UsageError(`--image: ${path} is not one of ${known}; use --file for other files.`);
      return { ...attachment(path, { flag: "--image" }), mime };
    }),
  ];
}

function attachment(path: string, { flag }: { flag: string }): Attachment {
  const whole = resolve(path);
  const stats = statSync(whole, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`${flag}: ${path} does not exist.`);
  if (!stats.isFile()) throw new UsageError(`${flag}: ${path} is not a file.`);
  const mime = IMAGES[extname(path).toLowerCase()];
  return { path: whole, ...(mime === undefined ? {} : { mime }) };
}

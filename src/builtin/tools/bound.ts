/** Bounds what a tool says to the model and keeps the rest in a file that the model may read. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolContext } from "./tool.ts";

export const OUTPUT_LIMIT = 30_000;
const HEAD_SHARE = 0.6;

export async function boundOutput(text: string, context: ToolContext): Promise<string> {
  if (text.length <= OUTPUT_LIMIT) return text;
  const path = await keepOutput(text, context);
  return shortened({ text, total: text.length, path });
}

/** `text` may have lost its middle already; `total` says how long it was. */
export function shortened({ text, total, path }: { text: string; total: number; path: string }): string {
  const head = Math.floor(OUTPUT_LIMIT * HEAD_SHARE);
  const tail = OUTPUT_LIMIT - head;
  const left = total - OUTPUT_LIMIT;
  return `${text.slice(0, head)}\n\n[… ${left} characters left out; the full text is in ${path} …]\n\n${text.slice(-tail)}`;
}

export async function keepOutput(text: string, context: ToolContext): Promise<string> {
  const path = await outputFile(context);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

/** The model chooses call ids, so only harmless characters of them reach a file name. */
export async function outputFile({ outputDirectory, callId }: ToolContext): Promise<string> {
  await mkdir(outputDirectory, { recursive: true, mode: 0o700 });
  return join(outputDirectory, `${callId.replaceAll(/[^\w-]/g, "_").slice(0, 100)}.txt`);
}

/** The ways in which a fake agent behaves during a turn, whatever language it speaks. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as after } from "node:timers/promises";
import type { Play } from "../plan.ts";

/** What a language can say. Each gives the bytes of one line, with its newline. */
export interface Voice {
  readonly begin: () => readonly object[];
  readonly delta: (text: string) => object;
  /** The whole text, and the word that the turn is over. */
  readonly end: (text: string) => readonly object[];
}

const MEBIBYTE = 1024 * 1024;
/** Far longer than the longest line that is read. */
const LONG_LINE_BYTES = 100 * MEBIBYTE;
const DEPTH = 100_000;
const NOISE_BYTES = 256 * 1024;
const NOISE_PAUSE_MS = 10;
const sleeper = ["-e", "process.on('SIGTERM',()=>{});process.on('SIGINT',()=>{});setInterval(()=>{},1000)"];

export async function write(bytes: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
}

export const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

const say = async (lines: readonly object[]): Promise<void> => {
  for (const line of lines) await write(lineOf(line));
};

/** Plays one turn. `size` is about how many deltas. */
export async function playTurn(voice: Voice, play: Play, size: number): Promise<void> {
  await say(voice.begin());
  let text = "";
  const speak = async (count: number, pauseMs = 0): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const word = `w${index} `;
      text += word;
      await write(lineOf(voice.delta(word)));
      if (pauseMs > 0) await after(pauseMs);
    }
  };
  const end = async (): Promise<void> => say(voice.end(text));
  switch (play) {
    case "say":
    case "flood":
      await speak(size);
      return end();
    case "pauses":
      await speak(Math.min(size, 40), 5);
      return end();
    case "garbage":
      await speak(2);
      await write('this is no JSON\n{"half": \n\n{"type":"nothing that anybody knows"}\n[1,2]\nnull\n');
      await speak(2);
      return end();
    case "halves":
      text = "twelve — \u2028 🎉";
      await inPieces(Buffer.from(lineOf(voice.delta(text))), 3);
      return end();
    case "utf8":
      await speak(1);
      await write(Buffer.from([0x7b, 0xff, 0xfe, 0xc3, 0x28, 0x0a]));
      text += "\u2028\u2029\u0000\ufeff";
      await write(lineOf(voice.delta("\u2028\u2029\u0000\ufeff")));
      return end();
    case "deep":
      await write(`{"type":"deep","more":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}}\n`);
      await speak(2);
      return end();
    case "long":
      await longLine();
      await speak(2);
      return end();
    case "midline":
      await speak(Math.min(size, 50));
      await write(lineOf(voice.delta("never whole")).slice(0, 25));
      process.exit(3);
      break;
    case "stubborn":
      process.on("SIGTERM", () => {}).on("SIGINT", () => {});
      return speak(Math.min(size, 20));
    case "deaf":
      process.stdin.destroy();
      await speak(3);
      return end();
    case "twice":
      await speak(3);
      await end();
      return end();
    case "endless":
      return speak(Math.min(size, 20));
    case "family":
      spawn(process.execPath, sleeper, { stdio: "ignore" }).unref();
      spawn(process.execPath, sleeper, { stdio: "ignore", detached: true }).unref();
      await speak(3);
      return end();
    case "noise":
      void noise();
      await speak(2);
      return end();
    default:
      return unknown(play);
  }
}

/** Writes to stderr for as long as the agent lives. */
async function noise(): Promise<never> {
  for (;;) {
    if (!process.stderr.write("noise\n".repeat(NOISE_BYTES / 6))) await once(process.stderr, "drain");
    await after(NOISE_PAUSE_MS);
  }
}

async function longLine(): Promise<void> {
  await write('{"type":"long","text":"');
  for (let sent = 0; sent < LONG_LINE_BYTES; sent += MEBIBYTE) await write("x".repeat(MEBIBYTE));
  await write('"}\n');
}

async function inPieces(bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    await write(bytes.subarray(at, at + size));
    await after(0);
  }
}

function unknown(play: never): never {
  throw new Error(`No such play: ${String(play)}`);
}

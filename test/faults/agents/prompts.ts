/** Prompts say to a fake agent how to behave: `play <name> <size>`. */
import { type Play, plays } from "../plan.ts";

export const promptFor = (play: Play, size: number): string => `play ${play} ${size}`;

/** What a line with a prompt in it asks for; a few words where it asks for nothing. */
export function readPlay(line: string): { play: Play; size: number } {
  const [, name, size] = /play (\w+) (\d+)/.exec(line) ?? [];
  return { play: plays.find((play) => play === name) ?? "say", size: Number(size ?? 1) };
}

/** Performs one script: says its lines at a steady pace, waits for answers, obeys an abort. */

import { unreachable } from "../core/fold.ts";
import type { InProcessHost } from "../core/in-process.ts";
import type { Answer, Beat, Script } from "./script.ts";

/** Waits, or less when the signal fires. Tests pass one that takes no time. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export interface Stage {
  readonly host: InProcessHost;
  readonly wait: Wait;
  /** Between two lines. */
  readonly delayMs: number;
  /** Asked before each beat: what was steered into the turn meanwhile. */
  readonly interjection: () => Script | null;
}

/** `paused`: the turn is over, the script has an epilogue, and it gave way to somebody else. `gone`: the mock died. */
export type Outcome = "finished" | "aborted" | "paused" | "gone";

export interface Performance {
  readonly done: Promise<Outcome>;
  readonly abort: () => void;
  /** Leaves the stage if the turn is over and only an epilogue remains. */
  readonly giveWay: () => void;
  readonly answer: (id: string, answer: Answer) => void;
}

/** Lines of a flood between two looks at the rest of the world. */
const FLOOD_BREATH = 2048;

interface Progress {
  /** From the end of the turn until the mock wakes by itself. */
  over: boolean;
  leaving: boolean;
  gone: boolean;
  asked: { readonly id: string; readonly resolve: (answer: Answer | undefined) => void } | null;
}

export function perform(script: Script, stage: Stage): Performance {
  const stop = new AbortController();
  const progress: Progress = { over: false, leaving: false, gone: false, asked: null };
  stop.signal.addEventListener("abort", () => progress.asked?.resolve(undefined));
  const done = playAll(script, { ...stage, progress, stop });
  // The caller that awaits it gets the error.
  done.catch(() => {});
  return {
    done,
    abort: () => stop.abort(),
    giveWay: () => {
      if (!progress.over) return;
      progress.leaving = true;
      stop.abort();
    },
    answer: (id, answer) => {
      if (progress.asked?.id === id) progress.asked.resolve(answer);
    },
  };
}

interface Performing extends Stage {
  readonly progress: Progress;
  readonly stop: AbortController;
}

async function playAll(script: Script, performing: Performing): Promise<Outcome> {
  const { progress, stop } = performing;
  let answer: Answer | undefined;
  while (!stop.signal.aborted) {
    for (const beat of performing.interjection() ?? []) await show(beat, performing);
    const next = script.next(answer);
    if (next.done === true) return "finished";
    answer = await show(next.value, performing);
  }
  if (progress.gone) return "gone";
  if (progress.leaving) return "paused";
  return progress.over ? "finished" : "aborted";
}

/** Performs one beat; gives the answer where it waited for one. */
async function show(beat: Beat, performing: Performing): Promise<Answer | undefined> {
  const { host, wait, progress, stop } = performing;
  switch (beat.type) {
    case "say":
      if (beat.line.type === "end") progress.over = true;
      if (beat.line.type === "wake") progress.over = false;
      return void (await emit(beat.line, performing));
    case "garble":
      return void (await emit(beat.line, performing));
    case "pause":
      return void (await wait(beat.ms, stop.signal));
    case "wait": {
      const answered = new Promise<Answer | undefined>((resolve) => {
        progress.asked = { id: beat.line.id, resolve };
      });
      await emit(beat.line, performing);
      return stop.signal.aborted ? undefined : answered;
    }
    case "flood":
      return void (await flood(beat, performing));
    case "hang":
      return void (await aborted(stop.signal));
    case "exit":
      progress.gone = true;
      host.exit(beat.exit);
      return void stop.abort();
    default:
      return unreachable(beat);
  }
}

async function emit(line: unknown, { host, wait, delayMs, stop }: Performing): Promise<void> {
  if (!host.emit(line)) await host.drained();
  if (delayMs > 0) await wait(delayMs, stop.signal);
}

async function flood({ id, count }: Extract<Beat, { type: "flood" }>, { host, stop }: Performing): Promise<void> {
  for (let index = 1; index <= count && !stop.signal.aborted; index += 1) {
    if (!host.emit({ type: "delta", id, text: `#${index} ` })) await host.drained();
    if (index % FLOOD_BREATH === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

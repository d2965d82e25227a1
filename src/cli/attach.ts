/** `franca attach`: follow a session in the terminal and speak to it, beside whoever else does. */
import { createInterface, type Interface } from "node:readline";
import type { Command } from "commander";
import { replay } from "../core/fold.ts";
import { textProjection } from "../projections/text/index.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { openAnswering } from "./answering.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import type { Output } from "./output.ts";
import { onSignals } from "./signals.ts";

/** How many events of the past are shown. */
const HISTORY = 500;

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("<id>", "the session")
    .addHelpText(
      "after",
      `
Type a line to send it as a prompt. Ctrl-C stops the running turn, and quits when nothing runs; Ctrl-D quits.

Example:
  $ franca attach 7f3c…`,
    )
    .action((id: string, flags: object) => attach(id, flags));
}

async function attach(id: string, flags: object): Promise<void> {
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  const stopping = new AbortController();
  const { status, lastSequence } = await door.get(id);
  const color = process.stdout.isTTY && process.env.NO_COLOR === undefined;
  const output = await openOutput({ color });
  const follow = openFollow({ door, id, output, stopping, running: status !== "idle" });
  const release = onSignals({ interrupt: follow.interrupt, terminate: () => stopping.abort() });
  let lines: Interface | null = null;
  try {
    await showHistory({ door, id, lastSequence, color });
    // Opened when it is read: lines that come before that would be lost.
    lines = createInterface({ input: process.stdin, terminal: process.stdin.isTTY });
    lines.on("SIGINT", follow.interrupt);
    await Promise.all([readPrompts({ lines, follow, stopping }), follow.events(lastSequence)]);
  } finally {
    lines?.close();
    release();
    output.end(null);
    await door.close();
  }
}

const openOutput = async ({ color }: { color: boolean }): Promise<Output> => {
  const { openTextOutput } = await import("./output-text.ts");
  return openTextOutput({
    stdout: process.stdout,
    stderr: process.stderr,
    color,
    prompts: !process.stdin.isTTY,
    agent: "",
  });
};

interface Past {
  readonly door: Door;
  readonly id: string;
  readonly lastSequence: number;
  readonly color: boolean;
}

async function showHistory({ door, id, lastSequence, color }: Past): Promise<void> {
  const offset = Math.max(0, lastSequence - HISTORY);
  const { events } = await door.events(id, { offset, limit: HISTORY, includeRaw: false });
  if (offset > 0) process.stderr.write(`… ${offset} earlier events\n`);
  const past = events.filter(({ sequence }) => sequence <= lastSequence);
  for (const { text } of replay(textProjection({ color, prompts: true }), past)) process.stdout.write(text);
}

interface FollowOptions {
  readonly door: Door;
  readonly id: string;
  readonly output: Output;
  readonly stopping: AbortController;
  readonly running: boolean;
}

interface Follow {
  readonly events: (after: number) => Promise<void>;
  readonly interrupt: () => void;
  readonly send: (text: string) => Promise<void>;
  /** No more prompts will come: leave as soon as nothing runs. */
  readonly leaveWhenIdle: () => void;
}

function openFollow({ door, id, output, stopping, running }: FollowOptions): Follow {
  /** Prompts sent from here whose turn has not ended, and whether some turn runs. */
  let waiting = 0;
  let busy = running;
  let leaving = false;
  const interrupt = (): void => {
    if (!busy) return stopping.abort();
    void door.abort(id).catch((error: unknown) => output.say(String(error)));
  };
  const person = process.stdin.isTTY && process.stderr.isTTY;
  const answering = person
    ? openAnswering({ door, session: id, rule: "ask", output, onCancel: interrupt })
    : { see: () => {}, stop: () => {} };
  const leaveIfDone = (): void => {
    if (leaving && !busy && waiting === 0) stopping.abort();
  };
  const see = (event: UniversalEvent): void => {
    if (event.type === "turn.started") busy = true;
    if (event.type === "turn.started" && event.data.prompt_id !== undefined) waiting = Math.max(0, waiting - 1);
    if (event.type === "turn.ended") busy = false;
    output.event(event);
    answering.see(event);
    if (event.type === "session.ended") stopping.abort();
    leaveIfDone();
  };
  return {
    interrupt,
    events: async (after) => {
      for await (const event of door.follow(id, { after, signal: stopping.signal })) see(event);
      answering.stop();
    },
    send: async (text) => {
      waiting += 1;
      await door.prompt(id, text);
    },
    leaveWhenIdle: () => {
      leaving = true;
      leaveIfDone();
    },
  };
}

interface Reading {
  readonly lines: Interface;
  readonly follow: Follow;
  readonly stopping: AbortController;
}

async function readPrompts({ lines, follow, stopping }: Reading): Promise<void> {
  stopping.signal.addEventListener("abort", () => lines.close());
  for await (const line of lines) {
    if (stopping.signal.aborted) return;
    if (line.trim() !== "") await follow.send(line);
  }
  // The end of a terminal's input is a wish to leave; of a script's, the end of its prompts.
  if (process.stdin.isTTY) stopping.abort();
  else follow.leaveWhenIdle();
}

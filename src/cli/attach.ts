/** `franca attach`: follow a session in the terminal and send prompts to it, beside other clients. */
import type { Command } from "commander";
import type { UniversalEvent } from "../protocol/events.ts";
import type { SessionDetail } from "../protocol/resources.ts";
import { openAnswering } from "./answering.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { type Keyboard, openKeyboard } from "./keyboard.ts";
import type { Output } from "./output.ts";
import type { TextOutput } from "./output-text.ts";
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
  const session = await door.get(id);
  const { status, lastSequence } = session;
  const color = process.stdout.isTTY && process.env.NO_COLOR === undefined;
  const output = await openOutput({ color });
  const keyboard = openKeyboard({ onInterrupt: () => follow.interrupt() });
  const follow = openFollow({ door, id, output, keyboard, stopping, running: status !== "idle" });
  const release = onSignals({ interrupt: follow.interrupt, terminate: () => stopping.abort() });
  try {
    await showHistory({ door, id, lastSequence, output });
    if (process.stdin.isTTY) output.say(greeting(session));
    follow.answer(session);
    await Promise.all([readPrompts({ keyboard, follow, stopping }), follow.events(lastSequence)]);
  } finally {
    keyboard.close();
    release();
    output.end(null);
    await door.close();
  }
}

const greeting = ({ sessionId, agent, status }: SessionDetail): string =>
  `${sessionId} · ${agent} · ${status}. Type a prompt; Ctrl-C stops a turn and quits when none runs, Ctrl-D quits.`;

const openOutput = async ({ color }: { color: boolean }): Promise<TextOutput> => {
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
  readonly output: TextOutput;
}

async function showHistory({ door, id, lastSequence, output }: Past): Promise<void> {
  const offset = Math.max(0, lastSequence - HISTORY);
  const { events } = await door.events(id, { offset, limit: HISTORY, includeRaw: false });
  if (offset > 0) process.stderr.write(`… ${offset} earlier events\n`);
  output.past(events.filter(({ sequence }) => sequence <= lastSequence));
}

interface FollowOptions {
  readonly door: Door;
  readonly id: string;
  readonly output: Output;
  readonly keyboard: Keyboard;
  readonly stopping: AbortController;
  readonly running: boolean;
}

interface Follow {
  readonly events: (after: number) => Promise<void>;
  /** What was asked before we came, and still waits. */
  readonly answer: (session: SessionDetail) => void;
  readonly interrupt: () => void;
  readonly send: (text: string) => Promise<void>;
  /** No more prompts will come: leave as soon as nothing runs. */
  readonly leaveWhenIdle: () => void;
}

function openFollow({ door, id, output, keyboard, stopping, running }: FollowOptions): Follow {
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
    ? openAnswering({ door, session: id, rule: "ask", output: givingKeys(output, keyboard), onCancel: interrupt })
    : null;
  const leaveIfDone = (): void => {
    if (leaving && !busy && waiting === 0) stopping.abort();
  };
  const see = (event: UniversalEvent): void => {
    if (event.type === "turn.started") busy = true;
    if (event.type === "turn.started" && event.data.prompt_id !== undefined) waiting = Math.max(0, waiting - 1);
    if (event.type === "turn.ended") busy = false;
    output.event(event);
    answering?.see(event);
    if (event.type === "session.ended") stopping.abort();
    leaveIfDone();
  };
  return {
    interrupt,
    events: async (after) => {
      for await (const event of door.follow(id, { after, signal: stopping.signal })) see(event);
      answering?.stop();
    },
    answer: ({ pendingPermissions, pendingQuestions }) => {
      for (const permission of pendingPermissions) answering?.permission(permission);
      for (const question of pendingQuestions) answering?.question(question);
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

/** While a question is on the screen, the keys are its own: else its Enter would send a prompt. */
const givingKeys = (output: Output, keyboard: Keyboard): Output => ({
  ...output,
  pause: () => {
    keyboard.release();
    output.pause();
  },
  resume: () => {
    output.resume();
    keyboard.take();
  },
});

interface Reading {
  readonly keyboard: Keyboard;
  readonly follow: Follow;
  readonly stopping: AbortController;
}

async function readPrompts({ keyboard, follow, stopping }: Reading): Promise<void> {
  stopping.signal.addEventListener("abort", () => keyboard.close());
  for await (const line of keyboard.lines()) {
    if (stopping.signal.aborted) return;
    if (line.trim() !== "") await follow.send(line);
  }
  // The end of a terminal's input is a wish to leave; of a script's, the end of its prompts.
  if (process.stdin.isTTY) stopping.abort();
  else follow.leaveWhenIdle();
}

/** `franca attach`: follow a session in the terminal and send prompts to it, beside other clients. */
import type { Command } from "commander";
import { oneLine } from "../projections/text/index.ts";
import { ApiError } from "../protocol/errors.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { SessionDetail } from "../protocol/resources.ts";
import { openAnswering } from "./answering.ts";
import { addDoorOptions, type Door, openDoor } from "./door.ts";
import { type Keyboard, openKeyboard } from "./keyboard.ts";
import type { Output } from "./output.ts";
import type { TextOutput } from "./output-text.ts";
import { sessionNamed, shortId } from "./session-id.ts";
import { onSignals } from "./signals.ts";

/** How many events of the past are shown. */
const HISTORY = 500;
const QUEUED_WIDTH = 60;
const STATUS_WIDTH = 50;

export function define(command: Command): void {
  addDoorOptions(command)
    .argument("<id>", "the session, by its id or the beginning of it")
    .addHelpText("after", `\n${HELP}\n\nExamples:\n  $ franca attach 7f3c`)
    .action((id: string, flags: object) => attach(id, flags));
}

const HELP = `Type a line and press Enter to send it as a prompt; while a turn runs, it is queued. Arrow up shows former prompts.
  /help   show this
  /abort  stop the running turn (Ctrl-C)
  /quit   leave; the session continues (Ctrl-D, or Ctrl-C while nothing runs)
Every other line that begins with / is sent to the agent.`;

async function attach(named: string, flags: object): Promise<void> {
  const door = await openDoor({ flags: { ...flags }, env: process.env });
  const stopping = new AbortController();
  const id = await sessionNamed(door, named);
  const session = await door.get(id);
  const { status, lastSequence } = session;
  const past = await pastOf({ door, id, lastSequence });
  const keyboard = openKeyboard({ onInterrupt: () => follow.interrupt(), history: promptsIn(past) });
  const output = await openOutput(keyboard);
  output.setDirectory?.(session.directory);
  const follow = openFollow({ door, id, output, keyboard, stopping, running: status !== "idle" });
  const release = onSignals({ interrupt: follow.interrupt, terminate: () => stopping.abort() });
  const ticking = process.stdin.isTTY ? setInterval(() => keyboard.setStatus(follow.status()), STATUS_MS) : undefined;
  try {
    if (past.offset > 0) process.stderr.write(`… ${past.offset} earlier events\n`);
    output.past(past.events);
    if (process.stdin.isTTY) output.say(greeting(session));
    follow.answer(session);
    await Promise.all([readPrompts({ keyboard, follow, stopping }), follow.events(lastSequence)]);
  } finally {
    clearInterval(ticking);
    keyboard.close();
    release();
    output.end(null);
    await door.close();
  }
}

/** How often the seconds before the input line change. */
const STATUS_MS = 1_000;

const greeting = ({ sessionId, agent, status }: SessionDetail): string =>
  `${shortId(sessionId)} · ${agent} · ${status}. Type a prompt, or /help.`;

/** On a terminal everything is written above the input line, in whole lines. */
const openOutput = async ({ print }: Keyboard): Promise<TextOutput> => {
  const { openTextOutput } = await import("./output-text.ts");
  const { stdin, stdout, stderr } = process;
  const isScreen = stdin.isTTY && stdout.isTTY && stderr.isTTY;
  const color = stdout.isTTY && process.env.NO_COLOR === undefined;
  const shared = { color, prompts: !stdin.isTTY, agent: "" };
  if (!isScreen) return openTextOutput({ stdout, stderr, ...shared });
  const answer = { write: print, isTTY: true, columns: stdout.columns };
  return openTextOutput({ stdout: answer, stderr: { write: print }, ...shared });
};

interface Past {
  readonly offset: number;
  readonly events: readonly UniversalEvent[];
}

async function pastOf(at: { door: Door; id: string; lastSequence: number }): Promise<Past> {
  const offset = Math.max(0, at.lastSequence - HISTORY);
  const { events } = await at.door.events(at.id, { offset, limit: HISTORY, includeRaw: false });
  return { offset, events: events.filter(({ sequence }) => sequence <= at.lastSequence) };
}

/** The newest first, as the arrow keys find them. */
const promptsIn = ({ events }: Past): string[] =>
  events
    .flatMap((event) => {
      if (event.type !== "item.completed" || event.data.item.role !== "user") return [];
      const [part] = event.data.item.content;
      return part?.type === "text" && !part.text.includes("\n") ? [part.text] : [];
    })
    .reverse();

interface FollowOptions {
  readonly door: Door;
  readonly id: string;
  readonly output: TextOutput;
  readonly keyboard: Keyboard;
  readonly stopping: AbortController;
  readonly running: boolean;
}

interface Follow {
  readonly events: (after: number) => Promise<void>;
  /** What was asked before we came, and still waits. */
  readonly answer: (session: SessionDetail) => void;
  readonly interrupt: () => void;
  readonly abort: () => void;
  readonly send: (text: string) => Promise<void>;
  readonly say: (text: string) => void;
  /** A word for what is going on; null while nothing is. */
  readonly status: () => string | null;
  /** No more prompts will come: leave as soon as nothing runs. */
  readonly leaveWhenIdle: () => void;
}

function openFollow({ door, id, output, keyboard, stopping, running }: FollowOptions): Follow {
  /** Prompts sent from here whose turn has not ended, and whether some turn runs. */
  let waiting = 0;
  let busy = running;
  let leaving = false;
  const abort = (): void => void door.abort(id).catch((error: unknown) => output.say(String(error)));
  const interrupt = (): void => (busy ? abort() : stopping.abort());
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
    abort,
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
      if (busy && person) output.say(`queued: ${oneLine(text, { width: QUEUED_WIDTH })}`);
      try {
        await door.prompt(id, text);
      } catch (error) {
        waiting -= 1;
        // A refused prompt is no reason to leave.
        if (!person || !(error instanceof ApiError)) throw error;
        output.say(error.message);
      }
    },
    say: output.say,
    status: () => (busy ? oneLine(output.progress() ?? "writing", { width: STATUS_WIDTH }) : null),
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
    const text = line.trim();
    if (text === "/quit" || text === "/exit") return stopping.abort();
    if (text === "/help") follow.say(HELP);
    else if (text === "/abort") follow.abort();
    else if (text !== "") await follow.send(line);
  }
  // The end of a terminal's input is a wish to leave; of a script's, the end of its prompts.
  if (process.stdin.isTTY) stopping.abort();
  else follow.leaveWhenIdle();
}

/** Scenarios about how turns end, do not end, or are followed by something. */
import {
  call,
  conclude,
  countWords,
  end,
  nextMessage,
  pause,
  type Script,
  say,
  speak,
  type Turn,
  usage,
} from "./script.ts";

const AFTER_END_MS = 30;

/** The first end comes while the command still runs, the second one when all is over. */
export function* doubleEnd(turn: Turn): Script {
  const message = nextMessage(turn);
  yield* speak("I will say that I am done too early.", { message });
  const tool = { tool: "bash", kind: "command", title: "Slow command", input: { command: "sleep 1" } } as const;
  const id = yield* call(turn, tool, { message });
  yield say({ type: "run", id });
  yield end("completed");
  yield pause(AFTER_END_MS);
  yield say({ type: "result", id, output: "slept\n", error: false });
  yield end("completed");
}

export function* silent(): Script {
  yield end("completed");
}

export function* late(turn: Turn): Script {
  yield* conclude(turn, "Some lines will follow me.");
  yield pause(AFTER_END_MS);
  yield say({ type: "heartbeat" });
  yield say({ type: "title", title: "A session with late lines" });
  yield usage(turn, { finish: "stop", words: 1 });
  yield end("completed");
}

export function* background(turn: Turn): Script {
  const task = { id: `${turn.id}.task`, title: "A scripted errand" };
  yield* speak("I have started an errand and will come back.", { message: nextMessage(turn) });
  yield say({ type: "background", tasks: [task] });
  yield end("completed");
  yield pause(AFTER_END_MS);
  yield say({ type: "background", tasks: [] });
  yield say({ type: "wake" });
  yield* conclude(turn, "The errand is done.");
}

export function* crash(turn: Turn): Script {
  const id = `${nextMessage(turn)}.text`;
  yield say({ type: "block", id, message: `${turn.id}.m${turn.messages}`, kind: "text" });
  yield say({ type: "delta", id, text: "I feel that something is " });
  const line = "mock: scripted crash";
  const stderr = { head: line, tail: line, truncated: false, total_lines: 1 };
  yield { type: "exit", exit: { code: 1, signal: null, stderr } };
}

export function* hang(): Script {
  yield { type: "hang" };
}

const MAX_FLOOD = 1_000_000;

export function* flood(turn: Turn): Script {
  const count = Number(turn.rest.trim());
  if (!Number.isInteger(count) || count < 1 || count > MAX_FLOOD) {
    return yield* conclude(turn, `flood needs a whole number from 1 to ${MAX_FLOOD}.`);
  }
  const message = nextMessage(turn);
  const id = `${message}.text`;
  yield say({ type: "block", id, message, kind: "text" });
  yield { type: "flood", id, count };
  yield say({ type: "block.end", id });
  yield usage(turn, { finish: "stop", words: count });
  yield end("completed");
}

const SECOND_MS = 1000;
const MAX_SECONDS = 86_400;

export function* long(turn: Turn): Script {
  const seconds = turn.rest.trim() === "" ? 1 : Number(turn.rest.trim());
  if (!(seconds >= 0 && seconds <= MAX_SECONDS)) {
    return yield* conclude(turn, `long needs a number of seconds from 0 to ${MAX_SECONDS}.`);
  }
  const message = nextMessage(turn);
  const id = `${message}.text`;
  yield say({ type: "block", id, message, kind: "text" });
  for (let gone = 0; gone < seconds; gone += 1) {
    yield pause(Math.min(1, seconds - gone) * SECOND_MS);
    yield say({ type: "delta", id, text: `${Math.min(gone + 1, seconds)} s\n` });
  }
  yield say({ type: "block.end", id });
  yield usage(turn, { finish: "stop", words: countWords(turn.prompt) });
  yield end("completed");
}

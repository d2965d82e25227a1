/** Every scenario by the prompt's first word. A prompt that names none comes back verbatim. */
import { permission, question } from "./asking.ts";
import { background, crash, doubleEnd, flood, hang, late, long, silent } from "./endings.ts";
import { conclude, countWords, end, nextMessage, pause, type Script, say, speak, type Turn, usage } from "./script.ts";
import { demo, image, markdown, reasoning, subagent, todo, tool, unfinished } from "./showing.ts";

export interface Scenario {
  readonly name: string;
  /** What to type after the name, where it takes something. */
  readonly argument?: string;
  readonly what: string;
  readonly play: (turn: Turn) => Script;
}

const echo = (turn: Turn): Script => conclude(turn, turn.rest);

function* error(turn: Turn): Script {
  const failure = { message: "The scripted model failed.", code: "mock_error" };
  yield* speak("This will go wrong.", { message: nextMessage(turn) });
  yield say({ type: "error", ...failure, fatal: true });
  yield say({ type: "end", reason: "error", error: failure });
}

function* warn(turn: Turn): Script {
  yield say({ type: "error", message: "A tool server did not answer.", code: "mock_warning", fatal: false });
  yield* conclude(turn, "That was only a warning: the turn goes on.");
}

const RETRY_MS = 20;

function* retry(turn: Turn): Script {
  for (const attempt of [1, 2]) {
    yield say({ type: "retry", attempt, message: "The scripted model is overloaded.", delay_ms: RETRY_MS });
    yield pause(RETRY_MS);
  }
  yield say({ type: "running" });
  yield* conclude(turn, "It worked at the third try.");
}

function* twoSteps(turn: Turn): Script {
  const texts = ["The first model step is short.", "The second one has a few words more than the first."];
  for (const [index, text] of texts.entries()) {
    yield* speak(text, { message: nextMessage(turn) });
    yield usage(turn, { finish: index === 0 ? "tool-calls" : "stop", words: countWords(text) });
  }
  yield end("completed");
}

function* unparsed(turn: Turn): Script {
  yield { type: "garble", line: { type: "glyph", shape: "of no kind" } };
  yield* conclude(turn, "One line above fits no shape.");
}

export const scenarios: readonly Scenario[] = [
  { name: "echo", argument: "TEXT", what: "answers with exactly TEXT", play: echo },
  { name: "say", argument: "TEXT", what: "the same", play: echo },
  { name: "tool", what: "reads a file and edits it", play: tool },
  {
    name: "permission",
    argument: "[COMMAND]",
    what: "asks to run a command, then to change a file",
    play: permission,
  },
  { name: "question", what: "asks two questions in one request", play: question },
  { name: "error", what: "a turn that fails; the session lives", play: error },
  { name: "warn", what: "an error that does not end the turn", play: warn },
  { name: "retry", what: "two retries, then success", play: retry },
  { name: "todo", what: "a plan that progresses", play: todo },
  { name: "unfinished", argument: "[stubborn]", what: "stops with todos open", play: unfinished },
  {
    name: "subagent",
    argument: "[COMMAND]",
    what: "work given to a subagent, which asks to run COMMAND",
    play: subagent,
  },
  { name: "reasoning", what: "thinks before it speaks", play: reasoning },
  { name: "markdown", what: "an answer with headings, lists, code and a table", play: markdown },
  { name: "image", what: "an answer with a picture", play: image },
  { name: "unparsed", what: "one line that fits no shape", play: unparsed },
  { name: "double-end", what: "says end twice, once before the last tool result", play: doubleEnd },
  { name: "silent", what: "a turn without output", play: silent },
  { name: "late", what: "bookkeeping after the end", play: late },
  { name: "background", what: "starts work by itself after the end", play: background },
  { name: "crash", what: "the agent dies in mid-turn", play: crash },
  { name: "hang", what: "says nothing until it is stopped", play: hang },
  { name: "flood", argument: "N", what: "exactly N deltas, as fast as they are taken", play: flood },
  { name: "long", argument: "N", what: "works for N seconds", play: long },
  { name: "usage", what: "two model steps with tokens and cost", play: twoSteps },
  { name: "demo", what: "a tour of most of these", play: demo },
  { name: "help", what: "names the scenarios", play: (turn) => conclude(turn, helpText()) },
];

export function scenarioFor(prompt: string): Scenario | null {
  const word = /^\S+/.exec(prompt)?.[0];
  return scenarios.find(({ name }) => name === word) ?? null;
}

/** The prompt comes back as it was. */
export const verbatim = (turn: Turn): Script => conclude(turn, turn.prompt);

function helpText(): string {
  const lines = scenarios.map(({ name, argument, what }) => {
    const usageText = argument === undefined ? name : `${name} ${argument}`;
    return `- \`${usageText}\`: ${what}`;
  });
  return [
    "The first word of a prompt chooses what I play:",
    "",
    ...lines,
    "",
    "Anything else comes back as it is.",
  ].join("\n");
}

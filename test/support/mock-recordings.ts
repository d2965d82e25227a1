/** Records the mock for transcripts/mock: its scenarios played to a host that answers as told, in made-up time. */
import type { LaunchOptions } from "../../src/core/launch.ts";
import { isMockLine, type MockHears } from "../../src/dialects/mock.ts";
import { createMock } from "../../src/mock/index.ts";
import { plainOptions } from "./launch-options.ts";
import type { About } from "./transcripts.ts";

type Reply = Extract<MockHears, { type: "answer" }>["reply"];

/** What the host does next, when the mock waits or has fallen silent. */
export type HostStep =
  | { readonly prompt: string }
  | { readonly reply: Reply; readonly message?: string }
  | { readonly answers: string[][] | null }
  | { readonly steer: string }
  | { readonly compact: string }
  | { readonly abort: true };

export interface MockRecording {
  readonly name: string;
  readonly about: Pick<About, "what" | "turns" | "unparsed">;
  readonly steps: readonly HostStep[];
}

const completed = { reason: "completed", evidence: "signal" } as const;
const single = (name: string, prompt: string, what: string): MockRecording => ({
  name,
  about: { what, turns: [completed] },
  steps: [{ prompt }],
});

export const mockRecordings: readonly MockRecording[] = [
  single("echo", "echo Hello, world!", "An answer of exactly what was asked for."),
  single("say", "say  two spaces, a tab\tand a line\nend", "White space comes back as it was."),
  single("verbatim", "What is this?", "A prompt that names no scenario comes back verbatim."),
  single("empty", "echo", "An answer without words."),
  single("tool", "tool", "A read and an edit, with the files they touched."),
  {
    name: "permission-once",
    about: { what: "A command and a file change, both allowed once.", turns: [completed] },
    steps: [{ prompt: "permission" }, { reply: "once" }, { reply: "once" }],
  },
  {
    name: "permission-always",
    about: { what: "After always, the same requests are answered by themselves.", turns: [completed, completed] },
    steps: [{ prompt: "permission" }, { reply: "always" }, { reply: "always" }, { prompt: "permission" }],
  },
  {
    name: "permission-reject",
    about: { what: "Both requests rejected: the turn ends completed all the same.", turns: [completed] },
    steps: [{ prompt: "permission" }, { reply: "reject", message: "Not today." }, { reply: "reject" }],
  },
  {
    name: "permission-abort",
    about: {
      what: "Aborted while a request is open.",
      turns: [{ reason: "aborted", evidence: "signal" }],
    },
    steps: [{ prompt: "permission" }, { abort: true }],
  },
  {
    name: "question",
    about: { what: "Two questions in one request, answered.", turns: [completed] },
    steps: [{ prompt: "question" }, { answers: [["TypeScript"], ["Lint", "Tests"]] }],
  },
  {
    name: "question-reject",
    about: { what: "Two questions, rejected: the turn ends completed all the same.", turns: [completed] },
    steps: [{ prompt: "question" }, { answers: null }],
  },
  {
    name: "error",
    about: {
      what: "A fatal error ends the turn; the session lives on.",
      turns: [{ reason: "error", evidence: "signal" }, completed],
    },
    steps: [{ prompt: "error" }, { prompt: "echo still here" }],
  },
  single("warn", "warn", "An error that is not fatal does not end the turn."),
  single("retry", "retry", "Two retries, then success."),
  single("todo", "todo", "A plan that progresses."),
  {
    name: "unfinished",
    about: { what: "Stops with todos open, and goes on when it is asked to.", turns: [completed, completed] },
    steps: [{ prompt: "unfinished" }, { prompt: "Please go on." }],
  },
  single("subagent", "subagent", "A subagent's items are items of the session."),
  single("reasoning", "reasoning", "A reasoning block before the text."),
  single("markdown", "markdown", "Rich text."),
  single("image", "image", "A picture."),
  {
    name: "unparsed",
    about: { what: "One line that fits no shape.", turns: [completed], unparsed: 1 },
    steps: [{ prompt: "unparsed" }],
  },
  single("double-end", "double-end", "Two ends, the first before the last tool result: one turn, ended once."),
  single("silent", "silent", "A turn without output."),
  single("late", "late", "Bookkeeping after the end begins no turn."),
  {
    name: "background",
    about: { what: "Work that starts by itself is a turn of its own.", turns: [completed, completed] },
    steps: [{ prompt: "background" }],
  },
  {
    name: "crash",
    about: { what: "The agent dies in mid-turn.", turns: [{ reason: "error", evidence: "exit" }] },
    steps: [{ prompt: "crash" }],
  },
  {
    name: "hang",
    about: { what: "Silence, until it is aborted.", turns: [{ reason: "aborted", evidence: "signal" }] },
    steps: [{ prompt: "hang" }, { abort: true }],
  },
  single("flood", "flood 25", "Exactly as many deltas as asked for."),
  single("long", "long 2.5", "Two and a half seconds of work."),
  single("usage", "usage", "Two model steps with tokens and cost."),
  single("demo", "demo", "The tour."),
  single("help", "help", "The names of all scenarios."),
  {
    name: "compact",
    about: { what: "A compaction that was asked for is a turn with a summary.", turns: [completed, completed] },
    steps: [{ prompt: "echo something to forget" }, { compact: "compact-1" }],
  },
  {
    name: "steer",
    about: { what: "Words steered into a turn that waits.", turns: [completed] },
    steps: [{ prompt: "permission" }, { steer: "be quick" }, { reply: "once" }, { reply: "once" }],
  },
];

export interface RecordedLine {
  readonly t: number;
  readonly from: "agent" | "host" | "process";
  readonly line: unknown;
}

const LINE_MS = 10;
const PERSON_MS = 500;

/** Plays it. Nothing waits for a clock: time is what the mock says it would have waited. */
export async function recordMock({ steps }: MockRecording): Promise<RecordedLine[]> {
  const lines: RecordedLine[] = [];
  let t = 0;
  let asked = "";
  let prompts = 0;
  const play = createMock({
    delayMs: LINE_MS,
    wait: async (ms) => {
      t += ms;
    },
  });
  const peer = play.open({
    options: launchOptions,
    emit: (line) => {
      lines.push({ t, from: "agent", line });
      if (isMockLine(line) && (line.type === "ask" || line.type === "question")) asked = line.id;
      return true;
    },
    drained: () => Promise.resolve(),
    exit: ({ code, signal }) => lines.push({ t, from: "process", line: { exit: { code, signal } } }),
    signal: new AbortController().signal,
  });
  const say = (line: MockHears): void => {
    lines.push({ t, from: "host", line });
    peer.receive(line);
  };
  await silence(lines);
  for (const step of steps) {
    t += PERSON_MS;
    if ("prompt" in step) {
      prompts += 1;
      say({ type: "prompt", id: `p${prompts}`, text: step.prompt });
    } else if ("reply" in step) say({ type: "answer", id: asked, ...step });
    else if ("answers" in step) say({ type: "answers", id: asked, answers: step.answers });
    else if ("steer" in step) say({ type: "steer", id: `s${t}`, text: step.steer });
    else if ("compact" in step) say({ type: "compact", id: step.compact });
    else say({ type: "abort" });
    await silence(lines);
  }
  return lines;
}

export const launchOptions: LaunchOptions = { ...plainOptions, session_id: "demo" };

/** The mock waits for nobody but us: after a round of the event loop in which it said nothing, it is our turn. */
async function silence(lines: readonly unknown[]): Promise<void> {
  for (let before = -1; before !== lines.length; ) {
    before = lines.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

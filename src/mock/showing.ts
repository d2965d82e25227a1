/** Scenarios that show something: tools with file artefacts, a plan, a subagent, reasoning, rich text, a picture. */
import { runGuarded } from "./asking.ts";
import {
  call,
  conclude,
  countWords,
  nextMessage,
  pause,
  type Script,
  say,
  speak,
  type Turn,
  usage,
  work,
} from "./script.ts";

/** Two of them: the tools of one run take at least a tenth of a second together. */
const TOOL_MS = 60;

export function* tool(turn: Turn): Script {
  yield* readAndEdit(turn);
  yield* conclude(turn, "Done: I added a line at the end of README.md.");
}

function* readAndEdit(turn: Turn): Script {
  const path = `${turn.directory}/README.md`;
  const reading = nextMessage(turn);
  yield* speak("I will read the file first.", { message: reading });
  const read = yield* call(
    turn,
    { tool: "read", kind: "tool", title: "Read README.md", input: { file_path: path } },
    { message: reading },
  );
  yield usage(turn, { finish: "tool-calls", words: 6 });
  yield pause(TOOL_MS);
  yield* work(read, { output: "# Project\n\nHello.\n", files: [{ path, action: "read" }] });

  const editing = nextMessage(turn);
  const edit = yield* call(
    turn,
    {
      tool: "edit",
      kind: "file_change",
      title: "Edit README.md",
      input: { file_path: path, old_string: "Hello.\n", new_string: "Hello.\nOne more line.\n" },
    },
    { message: editing },
  );
  yield usage(turn, { finish: "tool-calls", words: 1 });
  yield pause(TOOL_MS);
  const diff = "@@ -3 +3,2 @@\n Hello.\n+One more line.\n";
  yield* work(edit, { output: "Edited README.md\n", files: [{ path, action: "patch", diff }] });
}

const plan = ["Read the code", "Change it", "Run the tests"] as const;

/** Stops with todos open. Each request to continue closes one more, or none when it is stubborn. */
export function* unfinished(turn: Turn): Script {
  turn.unfinished.done = 1;
  turn.unfinished.stubborn = turn.rest === "stubborn";
  yield* planned(turn, 1);
  yield* conclude(turn, "I stop here, with todos open.");
}

export function* carryOn(turn: Turn): Script {
  const { done, stubborn } = turn.unfinished;
  const now = Math.min((done ?? 0) + (stubborn ? 0 : 1), plan.length);
  turn.unfinished.done = now === plan.length ? null : now;
  yield* planned(turn, now);
  yield* conclude(turn, now === plan.length ? "Now all of the plan is done." : "I stop again.");
}

function* planned(turn: Turn, done: number): Script {
  yield* speak(`${done} of ${plan.length} are done.`, { message: nextMessage(turn) });
  yield say({ type: "todos", todos: todosAt(done) });
}

const todosAt = (done: number) =>
  plan.map((content, index) => {
    const status = index < done ? "completed" : index === done ? "in_progress" : "pending";
    return { id: `${index + 1}`, content, status } as const;
  });

export function* todo(turn: Turn): Script {
  yield* makeProgress(turn);
  yield* conclude(turn, "All of the plan is done.");
}

function* makeProgress(turn: Turn): Script {
  yield* speak("Here is my plan.", { message: nextMessage(turn) });
  for (let done = 0; done <= plan.length; done += 1) {
    yield say({ type: "todos", todos: todosAt(done) });
  }
}

export function* subagent(turn: Turn): Script {
  yield* delegate(turn, { command: turn.rest });
  yield* conclude(turn, "The subagent found two files.");
}

function* delegate(turn: Turn, { command }: { readonly command: string }): Script {
  const message = nextMessage(turn);
  yield* speak("I will send somebody to look.", { message });
  const input = { description: "Look for files", prompt: "List the files of the project." };
  const id = yield* call(turn, { tool: "task", kind: "subagent", title: "Look for files", input }, { message });
  yield say({ type: "run", id });

  const helper = `${id}.agent`;
  yield say({ type: "subagent", id: helper, call: id, name: "explorer", status: "started" });
  const inner = nextMessage(turn);
  yield* speak("Looking around.", { message: inner, subagent: helper });
  const list = yield* call(
    turn,
    { tool: "list", kind: "tool", title: "List files", input: { path: turn.directory } },
    { message: inner, subagent: helper },
  );
  yield* work(list, { output: "README.md\nsrc/index.ts\n" });
  if (command !== "") yield* runGuarded(turn, { command, message: inner, subagent: helper });
  yield say({ type: "subagent", id: helper, call: id, name: "explorer", status: "completed" });
  yield say({ type: "result", id, output: "Two files: README.md and src/index.ts.\n", error: false });
}

export function* reasoning(turn: Turn): Script {
  yield* think(turn, "It is forty-two.");
}

function* think(turn: Turn, conclusion: string): Script {
  const message = nextMessage(turn);
  const thought = "The question is short, so the answer can be short too.";
  yield* speak(thought, { message, kind: "reasoning" });
  yield* speak(conclusion, { message });
  yield usage(turn, { finish: "stop", words: countWords(conclusion) });
  yield say({ type: "end", reason: "completed" });
}

const page = `# A heading

Some *emphasis*, some **weight**, some \`code\`, and [a link](https://example.com).

1. first
2. second
   - nested

> A quotation.

\`\`\`ts
const answer: number = 42;
\`\`\`

| name | value |
|---|---|
| one | 1 |
`;

export const markdown = (turn: Turn): Script => conclude(turn, page);

/** One grey pixel. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";

export function* image(turn: Turn): Script {
  const message = nextMessage(turn);
  yield* speak("Here is a picture.", { message });
  yield say({ type: "image", id: `${message}.image`, message, mime: "image/png", data: pixel });
  yield usage(turn, { finish: "stop", words: 4 });
  yield say({ type: "end", reason: "completed" });
}

export function* demo(turn: Turn): Script {
  const message = nextMessage(turn);
  yield* speak("Let me think about what to show.", { message, kind: "reasoning" });
  yield* speak("This is a short tour: a plan, two tools, a subagent, and some rich text.", { message });
  yield* makeProgress(turn);
  yield* readAndEdit(turn);
  yield* delegate(turn, { command: "" });
  yield* conclude(turn, page);
}

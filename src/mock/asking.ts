/** Scenarios that wait for a person. Whatever the answer, they end completed: a "no" is an answer too. */
import {
  type Answer,
  call,
  conclude,
  nextMessage,
  type Outcome,
  type Script,
  say,
  speak,
  type Tool,
  type Turn,
  usage,
  work,
} from "./script.ts";

interface Guarded {
  readonly action: "bash" | "edit";
  readonly pattern: string;
  readonly tool: Tool;
  readonly outcome: Outcome;
}

/** Whatever the command is, it is described as harmless: clients must show the command itself. Nothing is run. */
const run = (command: string): Guarded => ({
  action: "bash",
  pattern: command,
  tool: { tool: "bash", kind: "command", title: "Run the tests", input: { command, description: "Run the tests" } },
  outcome: { output: "12 passed, 0 failed\n" },
});

const change = (directory: string): Guarded => {
  const path = `${directory}/CHANGELOG.md`;
  return {
    action: "edit",
    pattern: "CHANGELOG.md",
    tool: {
      tool: "edit",
      kind: "file_change",
      title: "Edit CHANGELOG.md",
      input: { file_path: path, old_string: "# Changes\n", new_string: "# Changes\n\n- All tests pass.\n" },
    },
    outcome: {
      output: "Edited CHANGELOG.md\n",
      files: [{ path, action: "patch", diff: "@@ -1 +1,3 @@\n # Changes\n+\n+- All tests pass.\n" }],
    },
  };
};

/** A command within a message of somebody, run once it is allowed. */
export function* runGuarded(
  turn: Turn,
  { command, message, subagent }: { readonly command: string; readonly message: string; readonly subagent: string },
): Script {
  const guarded = run(command);
  const id = yield* call(turn, guarded.tool, { message, subagent });
  yield* perform(turn, guarded, id);
}

/** Asks, and runs it or says why not; gives whether it ran. */
function* perform(turn: Turn, guarded: Guarded, id: string): Script<boolean> {
  const refusal = yield* ask(turn, guarded, id);
  if (refusal === null) yield* work(id, guarded.outcome);
  else yield say({ type: "result", id, output: refusal, error: true, denied: true });
  return refusal === null;
}

export function* permission(turn: Turn): Script {
  const results: string[] = [];
  for (const guarded of [run(turn.rest === "" ? "npm test" : turn.rest), change(turn.directory)]) {
    const message = nextMessage(turn);
    yield* speak(`I would like to ${guarded.tool.title.toLowerCase()}.`, { message });
    const id = yield* call(turn, guarded.tool, { message });
    yield usage(turn, { finish: "tool-calls", words: 6 });
    const allowed = yield* perform(turn, guarded, id);
    results.push(`${guarded.tool.tool} was ${allowed ? "allowed" : "rejected"}`);
  }
  yield* conclude(turn, `Done: ${results.join(", ")}.`);
}

/** Null when it may go on, else why not. */
function* ask(turn: Turn, { action, pattern, tool }: Guarded, id: string): Script<string | null> {
  if (turn.permissionMode === "bypass") return null;
  if (turn.permissionMode === "acceptEdits" && action === "edit") return null;
  if (turn.permissionMode === "plan") return "Not in plan mode.";
  const request = {
    type: "ask" as const,
    id: `${id}.ask`,
    action,
    call: id,
    tool: tool.tool,
    input: { ...tool.input },
    patterns: [pattern],
  };
  const remembered = `${action} ${pattern}`;
  if (turn.always.has(remembered)) {
    yield say(request);
    yield say({ type: "answered", id: request.id, reply: "always" });
    return null;
  }
  const answer = yield { type: "wait", line: request };
  const reply = answer?.type === "reply" ? answer.reply : "reject";
  yield say({ type: "answered", id: request.id, reply });
  if (reply === "always") turn.always.add(remembered);
  if (reply !== "reject") return null;
  const message = answer?.type === "reply" ? answer.message : null;
  return message === null ? "The user said no." : `The user said no: ${message}`;
}

export function* question(turn: Turn): Script {
  const message = nextMessage(turn);
  yield* speak("Two things are not clear to me.", { message });
  const answer = yield {
    type: "wait",
    line: {
      type: "question",
      id: `${message}.question`,
      questions: [
        {
          id: "language",
          header: "Language",
          question: "Which language shall I use?",
          options: [{ label: "TypeScript", description: "With types" }, { label: "JavaScript" }],
          multiple: false,
        },
        {
          id: "checks",
          header: "Checks",
          question: "Which checks shall I run?",
          options: [{ label: "Lint" }, { label: "Types" }, { label: "Tests" }],
          multiple: true,
        },
      ],
    },
  };
  yield* conclude(turn, answerText(answer));
}

function answerText(answer: Answer | undefined): string {
  if (answer?.type !== "answers" || answer.answers === null) return "No answer: I go on with what I know.";
  return `You chose: ${answer.answers.map((labels) => labels.join(" and ") || "nothing").join("; ")}.`;
}

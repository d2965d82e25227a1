/** What transcripts/builtin shows: each scenario with its scripted model and the person who answers. */
import { compactions } from "./builtin-compactions.ts";
import { answer, type BuiltinRecording, call, ended, failing, onFirst, replies, text } from "./builtin-scenario.ts";

const asking = call(
  "question",
  { questions: [{ question: "Which colour?", options: [{ label: "Red" }, { label: "Blue" }] }] },
  "call_q",
);
const running = call("bash", { command: "echo running; sleep 300" }, "call_b");
const touching = call("bash", { command: "echo hello" }, "call_b");
const listing = (id: string) => call("list", {}, id);

export const builtinRecordings: readonly BuiltinRecording[] = [
  {
    name: "edit",
    about: { what: "The reference scenario: reads README.md and adds a line at its end.", turns: [ended("completed")] },
    prompts: ["Read README.md and add a line at the end"],
    script: {
      turns: [
        answer(text("I read the file first."), call("read", { filePath: "README.md" }, "call_1")),
        answer(
          text("Now I add the line."),
          call(
            "edit",
            { filePath: "README.md", oldString: "second line", newString: "second line\nthird line" },
            "call_2",
          ),
        ),
        answer(text("Done!")),
      ],
    },
  },
  {
    name: "reasoning",
    about: { what: "The model thinks before it speaks.", turns: [ended("completed")] },
    prompts: ["Think"],
    script: { turns: [answer({ type: "thinking", text: "Two and two.", chunks: 2 }, text("Four."))] },
  },
  {
    name: "call-first",
    about: { what: "A step that begins with a tool call, and a command that fails.", turns: [ended("completed")] },
    prompts: ["Run it"],
    script: { turns: [answer(call("bash", { command: "echo no; exit 3" }, "call_1")), answer(text("It failed."))] },
  },
  {
    name: "retry",
    about: { what: "Two tries fail, the third succeeds.", turns: [ended("completed")] },
    prompts: ["Hello"],
    script: { turns: [failing(429, { "retry-after-ms": "1500" }), failing(503), answer(text("Here I am."))] },
  },
  {
    name: "retry-exhausted",
    about: { what: "The provider never recovers; the next prompt works.", turns: [ended("error"), ended("completed")] },
    prompts: ["Hello", "And now?"],
    config: { retry: { max: 2 } },
    script: { turns: [failing(503), failing(503), failing(503), answer(text("Now."))] },
  },
  {
    name: "retry-abort",
    about: { what: "Aborted while it waits to try again.", turns: [ended("aborted")] },
    prompts: ["Hello"],
    stuck: true,
    react: onFirst("retry", { type: "abort" }),
    script: { turns: [failing(429, { "retry-after": "3600" })] },
  },
  {
    name: "cut",
    about: {
      what: "The connection is cut in the middle of a text; the second try says it all.",
      turns: [ended("completed")],
    },
    prompts: ["Hello"],
    script: {
      turns: [
        { type: "answer", blocks: [text("Half of it", 5)], fault: { type: "cut", afterChunks: 2 }, chunkDelayMs: 5 },
        answer(text("All of it.")),
      ],
    },
  },
  {
    name: "cut-in-call",
    about: {
      what: "The answer breaks off after a tool call: the call never runs, the second try's does.",
      turns: [ended("completed")],
    },
    prompts: ["Run it"],
    script: {
      turns: [
        {
          type: "answer",
          blocks: [touching, text("and then", 4)],
          fault: { type: "cut", afterChunks: 3 },
          chunkDelayMs: 5,
        },
        answer(touching),
        answer(text("Ran.")),
      ],
    },
  },
  {
    name: "error",
    about: { what: "A key that is refused.", turns: [ended("error")] },
    prompts: ["Hello"],
    script: { turns: [failing(401)] },
  },
  {
    name: "length",
    about: { what: "The answer is cut at the output limit.", turns: [ended("length")] },
    prompts: ["Write a novel"],
    script: { turns: [{ type: "answer", blocks: [text("Chapter one")], finish: "length" }] },
  },
  {
    name: "refusal",
    about: { what: "The model refuses.", turns: [ended("refusal")] },
    prompts: ["Do evil"],
    script: { turns: [{ type: "answer", blocks: [text("I will not.")], finish: "refusal" }] },
  },
  {
    name: "content-filter",
    about: { what: "The provider's filter steps in.", turns: [ended("content_filter")] },
    prompts: ["Say it"],
    provider: "openai",
    script: { turns: [{ type: "answer", blocks: [text("The")], finish: "content_filter" }] },
  },
  {
    name: "max-steps",
    about: { what: "At the step limit the last step has no tools.", turns: [ended("max_steps")] },
    prompts: ["For ever"],
    config: { maxSteps: 2 },
    script: { turns: [answer(listing("call_1")), answer(text("I listed the folder; the rest is open."))] },
  },
  {
    name: "permission-once",
    about: { what: "A command that is allowed once.", turns: [ended("completed")] },
    prompts: ["Run it"],
    mode: "default",
    react: replies("once"),
    script: { turns: [answer(touching), answer(text("Ran."))] },
  },
  {
    name: "permission-reject",
    about: { what: "A bare no ends the turn.", turns: [ended("rejected")] },
    prompts: ["Run it"],
    mode: "default",
    react: replies("reject"),
    script: { turns: [answer(text("I run it."), touching)] },
  },
  {
    name: "permission-reject-message",
    about: { what: "A no with a reason is told to the model, which goes on.", turns: [ended("completed")] },
    prompts: ["Run it"],
    mode: "default",
    react: replies("reject", "Use make instead."),
    script: { turns: [answer(touching), answer(text("As you wish."))] },
  },
  {
    name: "permission-abort",
    about: { what: "Aborted while a permission is asked for.", turns: [ended("aborted")] },
    prompts: ["Run it"],
    mode: "default",
    react: onFirst("permission.asked", { type: "abort" }),
    script: { turns: [answer(touching)] },
  },
  {
    name: "denied",
    about: { what: "Plan mode: a rule says no, nobody is asked.", turns: [ended("completed")] },
    prompts: ["Write it"],
    mode: "plan",
    script: {
      turns: [answer(call("write", { filePath: "a.txt", content: "a" }, "call_1")), answer(text("Then a plan."))],
    },
  },
  {
    name: "doom-loop",
    about: {
      what: "The third identical call with the same result is asked about, and refused.",
      turns: [ended("rejected")],
    },
    prompts: ["Look"],
    mode: "default",
    react: replies("reject"),
    script: { turns: [answer(listing("call_1")), answer(listing("call_2")), answer(listing("call_3"))] },
  },
  {
    name: "question",
    about: { what: "A question, answered.", turns: [ended("completed")] },
    prompts: ["Paint it"],
    mode: "default",
    react: (line) =>
      line.type === "question.asked" ? [{ type: "question.reply", id: line.id, answers: [["Blue"]] }] : [],
    script: { turns: [answer(asking), answer(text("Blue it is."))] },
  },
  {
    name: "question-reject",
    about: { what: "A question, rejected.", turns: [ended("rejected")] },
    prompts: ["Paint it"],
    mode: "default",
    react: (line) => (line.type === "question.asked" ? [{ type: "question.reject", id: line.id }] : []),
    script: { turns: [answer(asking)] },
  },
  {
    name: "abort-tool",
    about: {
      what: "Aborted while a command runs; the next prompt goes on.",
      turns: [ended("aborted"), ended("completed")],
    },
    prompts: ["Run it", "Still there?"],
    react: onFirst("tool.output", { type: "abort" }),
    script: { turns: [answer(text("I run it."), running), answer(text("Yes."))] },
  },
  {
    name: "abort-text",
    about: { what: "Aborted in the middle of a text.", turns: [ended("aborted")] },
    prompts: ["Speak"],
    react: onFirst("text.delta", { type: "abort" }),
    script: {
      turns: [{ type: "answer", blocks: [text("I was about to", 4)], fault: { type: "hang", afterChunks: 1 } }],
    },
  },
  {
    name: "steer",
    about: { what: "Words steered into a running turn.", turns: [ended("completed")] },
    prompts: ["Run it"],
    mode: "default",
    react: (line) =>
      line.type === "permission.asked"
        ? [
            { type: "steer", text: "And be quick", attachments: [] },
            { type: "permission.reply", id: line.id, reply: "once" },
          ]
        : [],
    script: { turns: [answer(touching), answer(text("Quickly done."))] },
  },
  {
    name: "todo",
    about: { what: "A list of tasks that gets done.", turns: [ended("completed")] },
    prompts: ["Plan and do"],
    script: {
      turns: [
        answer(
          call(
            "todowrite",
            {
              todos: [
                { content: "look", status: "in_progress" },
                { content: "say", status: "pending" },
              ],
            },
            "call_1",
          ),
        ),
        answer(
          call(
            "todowrite",
            {
              todos: [
                { content: "look", status: "completed" },
                { content: "say", status: "completed" },
              ],
            },
            "call_2",
          ),
        ),
        answer(text("All done.")),
      ],
    },
  },
  {
    name: "subagent",
    about: { what: "A child does a piece of the work.", turns: [ended("completed")] },
    prompts: ["Have it counted"],
    script: {
      turns: [
        answer(call("task", { description: "Count files", prompt: "Count the files here." }, "call_t")),
        answer(text("One file.")),
      ],
      side: [
        {
          name: "child",
          match: { systemContains: "You are a helper of another agent" },
          turns: [answer(text("I look."), listing("call_c")), answer(text("There is one: README.md."))],
        },
      ],
    },
  },
  {
    name: "reject-all",
    about: { what: "One bare no rejects everything that waits.", turns: [ended("rejected")] },
    prompts: ["Fetch both"],
    mode: "default",
    react: (line) =>
      line.type === "question.asked" ? [{ type: "permission.reply", id: "per_1_call_1", reply: "reject" }] : [],
    script: {
      turns: [
        answer(
          call("webfetch", { url: "http://one.example/" }, "call_1"),
          call("webfetch", { url: "http://two.example/" }, "call_2"),
          asking,
        ),
      ],
    },
  },
  {
    name: "changed",
    about: { what: "Model and mode are changed between two turns.", turns: [ended("completed"), ended("completed")] },
    prompts: ["One", { type: "set", model: "anthropic/other-model", permission_mode: "plan" }, "Two"],
    script: { turns: [answer(text("First.")), answer(text("Second."))] },
  },
  ...compactions,
];

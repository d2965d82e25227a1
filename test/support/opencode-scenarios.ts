/** What OpenCode and Franca with OpenCode are both asked to do, with a model that does as it is told. */
import type { ScriptBlock, ScriptTurn } from "../../src/model-server/script.ts";
import { isIdle } from "./opencode-client.ts";
import { bash, says } from "./opencode-lab.ts";
import { opencodeScript } from "./opencode-trial.ts";
import type { Scenario, Side } from "./opencode-twin.ts";

/** Calls with ids of their own: a model server would count them through both runs. */
const calls = (...tools: readonly { readonly name: string; readonly input: unknown }[]): ScriptTurn => ({
  type: "answer",
  blocks: tools.map((tool): ScriptBlock => ({ type: "tool_call", id: `call_${tool.name}`, ...tool })),
  usage: { input: 100, output: 20 },
});

const text = (words: string) => ({ parts: [{ type: "text", text: words }] });

const ask = async ({ api, session }: Side, words: string): Promise<void> => {
  const { status } = await api.post(`/session/${session}/prompt_async`, text(words));
  if (status !== 204) throw new Error(`The prompt was answered with ${status}`);
};

/** The turn is over; in a session's second turn, for the second time. */
const idle = async ({ listener, session }: Side, times = 1): Promise<void> => {
  const isOver = isIdle(session);
  await listener.until(() => listener.heard.filter(({ event }) => isOver(event)).length >= times);
};

const asks = (words: string, turns: readonly ScriptTurn[]): Pick<Scenario, "script" | "drive"> => ({
  script: opencodeScript(turns),
  async drive(side) {
    await ask(side, words);
    await idle(side);
  },
});

const readAndEdit: readonly ScriptTurn[] = [
  {
    type: "answer",
    blocks: [
      { type: "thinking", text: "First I read it.", chunks: 2 },
      { type: "text", text: "Reading.", chunks: 2 },
      { type: "tool_call", id: "call_read", name: "read", input: { filePath: "README.md" } },
    ],
    usage: { input: 100, output: 20, cacheRead: 30 },
  },
  {
    type: "answer",
    blocks: [
      { type: "text", text: "Now the line." },
      {
        type: "tool_call",
        id: "call_edit",
        name: "edit",
        input: { filePath: "README.md", oldString: "project.\n", newString: "project.\nOne more.\n" },
      },
    ],
    usage: { input: 120, output: 20 },
  },
  says("Done!"),
];

const question = {
  name: "question",
  input: {
    questions: [
      {
        question: "Which database?",
        header: "Database",
        options: [
          { label: "SQLite", description: "A file" },
          { label: "Postgres", description: "A server" },
        ],
      },
    ],
  },
};

const todos = (first: string) =>
  calls({
    name: "todowrite",
    input: {
      todos: [
        { content: "Read", status: first, priority: "high" },
        { content: "Write", status: "pending", priority: "low" },
      ],
    },
  });

const task = { description: "Look around", prompt: "CHILD look", subagent_type: "general" };

async function permit(side: Side, reply: object): Promise<void> {
  const asked = await side.listener.until(({ type }) => type === "permission.asked");
  const id = "id" in asked.properties ? asked.properties.id : "";
  await side.api.post(`/permission/${id}/reply`, reply);
}

/** Ends a turn in its middle, as soon as this has been heard. */
const aborted = (turns: readonly ScriptTurn[], started: Parameters<Side["listener"]["until"]>[0]) => ({
  script: opencodeScript(turns),
  async drive(side: Side) {
    await ask(side, "Begin");
    await side.listener.until(started);
    await side.api.post(`/session/${side.session}/abort`);
    await idle(side);
  },
});

export const scenarios: readonly Scenario[] = [
  { name: "a plain answer where no repository is", ...asks("Hello", [says("Hello there.")]), bare: true },
  { name: "a plain answer", ...asks("Hello", [says("Hello there, and welcome.")]) },
  { name: "read and edit", ...asks("Read README.md and add a line at the end", readAndEdit) },
  {
    name: "a permission that is given",
    script: opencodeScript([calls(bash("touch made.txt")), says("Made.")]),
    async drive(side) {
      await ask(side, "Make a file");
      await permit(side, { reply: "once" });
      await idle(side);
    },
  },
  {
    name: "an edit that is allowed",
    script: opencodeScript([
      calls({ name: "write", input: { filePath: "NOTES.txt", content: "One.\n" } }),
      says("Written."),
    ]),
    async drive(side) {
      await ask(side, "Write notes");
      await permit(side, { reply: "once" });
      await idle(side);
    },
  },
  {
    name: "a permission that is refused",
    script: opencodeScript([calls(bash("touch made.txt"))]),
    async drive(side) {
      await ask(side, "Make a file");
      await permit(side, { reply: "reject" });
      await idle(side);
    },
  },
  {
    name: "a question",
    script: opencodeScript([calls(question), says("SQLite it is.")]),
    async drive(side) {
      await ask(side, "Ask me");
      const asked = await side.listener.until(({ type }) => type === "question.asked");
      const id = "id" in asked.properties ? asked.properties.id : "";
      await side.api.post(`/question/${id}/reply`, { answers: [["SQLite"]] });
      await idle(side);
    },
  },
  {
    name: "an abort while it speaks",
    ...aborted(
      [says("One two three four.", { fault: { type: "hang", afterChunks: 2 } })],
      ({ type }) => type === "message.part.delta",
    ),
  },
  {
    name: "an abort while a command runs",
    ...aborted(
      [calls(bash("echo begun; sleep 60"))],
      (event) =>
        event.type === "message.part.updated" &&
        event.properties.part.type === "tool" &&
        JSON.stringify(event.properties.part.state).includes('"output":"begun'),
    ),
  },
  { name: "no credentials", ...asks("Hello", [{ type: "status", status: 401, message: "Invalid key" }]) },
  {
    name: "an answer that breaks off",
    ...asks("Hello", [
      says("Broken off here", { fault: { type: "cut", afterChunks: 2 }, chunkDelayMs: 100 }),
      says("Whole."),
    ]),
  },
  {
    name: "a provider that is busy",
    ...asks("Hello", [
      { type: "status", status: 429, headers: { "retry-after": "1" }, message: "Too many" },
      says("Recovered."),
    ]),
  },
  {
    name: "a subagent",
    ...asks("Use a helper", []),
    script: {
      turns: [calls({ name: "task", input: task }), says("It found one file.")],
      side: [
        ...(opencodeScript([]).side ?? []),
        {
          name: "child",
          match: { messageContains: "CHILD look", lacksTool: "task" },
          turns: [calls({ name: "glob", input: { pattern: "*" } }), says("One file.")],
        },
      ],
    },
  },
  {
    name: "a tool that does not exist",
    ...asks("Beam me up", [calls({ name: "teleport", input: { to: "home" } }), says("No such thing.")]),
  },
  {
    name: "a compaction",
    script: opencodeScript([says("Hello."), says("SUMMARY of all.")]),
    async drive(side) {
      await ask(side, "Hello");
      await idle(side);
      await side.api.post(`/session/${side.session}/summarize`, side.model);
      await idle(side, 2);
    },
  },
  {
    name: "a command of the user's",
    script: opencodeScript([]),
    async drive(side) {
      await side.api.post(`/session/${side.session}/shell`, { agent: "build", command: "echo by hand" });
      await idle(side);
    },
  },
  { name: "a todo list", ...asks("Plan", [todos("in_progress"), todos("completed"), says("Planned.")]) },
];

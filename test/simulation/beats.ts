/** What the simulated agent says in each of its plays, line by line. */
import type { MockSays, MockSaysOf } from "../../src/dialects/mock.ts";
import type { Random } from "../faults/random.ts";
import type { Play } from "./plan.ts";

export type Beat =
  | { readonly type: "say"; readonly line: MockSays }
  /** A line that nobody understands. */
  | { readonly type: "garble"; readonly line: unknown }
  /** Says it and waits for the answer. */
  | { readonly type: "ask"; readonly line: MockSaysOf<"ask" | "question"> }
  | { readonly type: "pause"; readonly ms: number }
  | { readonly type: "exit" }
  | { readonly type: "hang" };

const say = (line: MockSays): Beat => ({ type: "say", line });
const pause = (ms: number): Beat => ({ type: "pause", ms });
const end = say({ type: "end", reason: "completed" });

export function beatsOf(play: Play, id: string, random: Random): Beat[] {
  switch (play) {
    case "say":
      return [...words(id, random), usage(random), end];
    case "tools":
      return [...words(id, random), ...call(`${id}.a`, id), ...call(`${id}.b`, id), ...words(`${id}.z`, random), end];
    case "ask":
      return [...words(id, random), ...ask(id), end];
    case "question":
      return [question(id), ...words(id, random), end];
    case "todos":
      return [todos(random), ...words(id, random), todos(random), end];
    case "early-end": {
      const [open = end, run = end, result = end] = call(`${id}.a`, id);
      return [...words(id, random), open, run, end, pause(random.integer(15_000)), result, ...maybe(random, end)];
    }
    default:
      return oddBeats(play, id, random);
  }
}

function oddBeats(play: OddPlay, id: string, random: Random): Beat[] {
  switch (play) {
    case "two-ends":
      return [...words(id, random), end, pause(random.integer(40)), end];
    case "late":
      return [
        ...words(id, random),
        end,
        pause(random.integer(60)),
        usage(random),
        say({ type: "title", title: `Title ${id}` }),
        say({ type: "heartbeat" }),
      ];
    case "background":
      return [
        say({ type: "background", tasks: [{ id: `${id}.task`, title: "An errand" }] }),
        ...words(id, random),
        end,
        pause(random.integer(200)),
        say({ type: "background", tasks: [] }),
        say({ type: "wake" }),
        ...words(`${id}.later`, random),
        end,
      ];
    case "garbage":
      return [
        { type: "garble", line: { type: "nonsense", id } },
        ...words(id, random),
        { type: "garble", line: 17 },
        say({ type: "delta", id: `${id}.unknown`, text: "before its parent" }),
        end,
      ];
    case "error":
      return [
        ...words(id, random).slice(0, 2),
        say({ type: "retry", attempt: 1, message: "overloaded", delay_ms: 50 }),
        pause(50),
        say({ type: "end", reason: "error", error: { message: "It failed.", code: "overloaded" } }),
      ];
    case "exit":
      return [...words(id, random).slice(0, random.integer(4)), { type: "exit" }];
    case "silent":
      return [end];
    case "hang":
      return [...words(id, random).slice(0, random.integer(3)), { type: "hang" }];
  }
}

type OddPlay = Exclude<Play, "say" | "tools" | "ask" | "question" | "todos" | "early-end">;

const maybe = (random: Random, beat: Beat): Beat[] => (random.chance(0.5) ? [beat] : []);

function words(id: string, random: Random): Beat[] {
  const block = `${id}.text`;
  const kind = random.chance(0.2) ? "reasoning" : "text";
  const deltas = Array.from({ length: random.between(1, 4) }, (_, index) =>
    say({ type: "delta", id: block, text: `${index} ` }),
  );
  return [say({ type: "block", id: block, message: id, kind }), ...deltas, say({ type: "block.end", id: block })];
}

const call = (id: string, message: string): Beat[] => [
  say({ type: "call", id, message, tool: "bash", kind: "command", title: "List", input: { command: "ls" } }),
  say({ type: "run", id }),
  say({ type: "result", id, output: "a\n", error: false }),
];

function ask(id: string): Beat[] {
  const [open = end, run = end, result = end] = call(`${id}.a`, id);
  const line = {
    type: "ask" as const,
    id: `${id}.ask`,
    action: "bash",
    call: `${id}.a`,
    tool: "bash",
    input: { command: "ls" },
    patterns: ["ls"],
  };
  return [open, { type: "ask", line }, run, result];
}

const question = (id: string): Beat => ({
  type: "ask",
  line: {
    type: "question",
    id: `${id}.question`,
    questions: [{ id: "q", header: "Q", question: "Which?", options: [{ label: "This" }], multiple: false }],
  },
});

const todos = (random: Random): Beat =>
  say({
    type: "todos",
    todos: ["one", "two"].map((id) => ({
      id,
      content: id,
      status: random.pick(["pending", "in_progress", "completed"] as const),
    })),
  });

const usage = (random: Random): Beat =>
  say({
    type: "usage",
    finish: "stop",
    tokens: { input: random.integer(100), output: random.integer(100), reasoning: 0 },
    cost_usd: 0.001,
  });

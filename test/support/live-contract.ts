/** What every adapter keeps in a live session: lines, commands, answers, deaths and the clock, in any order. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Adapter } from "../../src/core/adapter.ts";
import { defaultPolicy, type SessionInput } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import type { Command } from "../../src/protocol/commands.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { lint, universal } from "../../src/rules/index.ts";
import { launchOptions } from "./mock-recordings.ts";
import { transcriptsOf } from "./transcripts.ts";

const search = { numRuns: Number(process.env.FC_RUNS ?? 40), seed: Number(process.env.FC_SEED ?? 1) };

type Event =
  | { readonly type: "lines"; readonly count: number }
  | { readonly type: "prompt"; readonly delivery: "queue" | "steer" }
  | { readonly type: "answer"; readonly yes: boolean }
  | { readonly type: "abort" | "compact" | "set" | "shell" | "exit" | "restart" }
  | { readonly type: "wait"; readonly ms: number };

const happening: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant("lines" as const), count: fc.integer({ min: 1, max: 12 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("prompt" as const),
      delivery: fc.constantFrom("queue" as const, "steer" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("answer" as const), yes: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom("abort" as const, "compact", "set", "shell", "exit", "restart") }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("wait" as const), ms: fc.constantFrom(1, 3_000, 11_000, 4_000_000) }),
  },
);

export function testLiveContract(adapter: Adapter): void {
  const recordings = transcriptsOf(adapter).map(({ recording }) =>
    recording.flatMap((entry) => (entry.type === "line" && entry.from === "agent" ? [entry.line] : [])),
  );

  test("whatever happens in whatever order, every turn ends once and nothing stays open", () => {
    fc.assert(
      fc.property(fc.constantFrom(...recordings), fc.array(happening, { maxLength: 30 }), (lines, happenings) => {
        const events = live(adapter, { lines, happenings });
        const violations = lint(universal, JSON.parse(JSON.stringify(events)));
        const broken = violations.filter(({ rule }) => rule !== "universal.unparsed");
        expect(broken.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
      }),
      search,
    );
  });
}

/** Plays it as the daemon would: what the session asks for is done at once, and at the end it is terminated. */
function live(
  adapter: Adapter,
  { lines, happenings }: { readonly lines: readonly unknown[]; readonly happenings: readonly Event[] },
): UniversalEvent[] {
  const session = openSession({ sessionId: sessionId("live"), adapter, policy: defaultPolicy });
  const events: UniversalEvent[] = [];
  let at = 1_000;
  let next = 0;
  let prompts = 0;
  const feed = (input: SessionInput): void => {
    const { events: told, effects } = session.step(input);
    events.push(...told);
    for (const effect of effects) {
      if (effect.type === "connect") feed({ type: "connected", first: true, options: launchOptions, at });
      if (effect.type === "stop") feed({ type: "disconnected", exit: { code: null, signal: "SIGKILL" }, at });
    }
  };
  const command = (one: Command): void => feed({ type: "command", command: one, at });
  const answer = (yes: boolean): void => {
    const { permissions, questions } = open(events);
    for (const permission_id of permissions)
      command({ type: "permission.reply", permission_id, reply: yes ? "once" : "reject" });
    for (const question_id of questions) {
      command(
        yes ? { type: "question.reply", question_id, answers: [["yes"]] } : { type: "question.reject", question_id },
      );
    }
  };
  const metadata = {
    agent: adapter.agent,
    agent_version: null,
    model: null,
    directory: "/workspace",
    permission_mode: "default",
    tools: [],
  };
  feed({ type: "opened", metadata, at });
  for (const one of happenings) {
    at += 10;
    switch (one.type) {
      case "lines":
        for (const line of lines.slice(next, next + one.count)) feed({ type: "line", from: "agent", line, at });
        next += one.count;
        break;
      case "prompt": {
        prompts += 1;
        const prompt = { prompt_id: promptId(`p${prompts}`), text: "go on", attachments: [] };
        command({ type: "prompt", prompt, delivery: one.delivery });
        break;
      }
      case "answer":
        answer(one.yes);
        break;
      case "abort":
        command({ type: "abort", clear_queue: false });
        break;
      case "compact":
        command({ type: "compact" });
        break;
      case "set":
        command({ type: "set", change: { model: "another" } });
        break;
      case "shell":
        command({ type: "shell", command: "ls" });
        break;
      case "exit":
        feed({ type: "disconnected", exit: { code: 1, signal: null }, at });
        break;
      case "restart":
        feed({ type: "restarted", at });
        break;
      case "wait":
        at += one.ms;
        for (let due = session.wakeAt(); due !== null && due <= at; due = session.wakeAt())
          feed({ type: "tick", at: due });
        break;
    }
  }
  command({ type: "terminate", by: "user" });
  feed({ type: "disconnected", exit: { code: 0, signal: null }, at });
  return events;
}

function open(events: readonly UniversalEvent[]) {
  const permissions = new Set<Extract<Command, { type: "permission.reply" }>["permission_id"]>();
  const questions = new Set<Extract<Command, { type: "question.reply" }>["question_id"]>();
  for (const event of events) {
    if (event.type === "permission.requested") permissions.add(event.data.permission_id);
    if (event.type === "permission.resolved") permissions.delete(event.data.permission_id);
    if (event.type === "question.requested") questions.add(event.data.question_id);
    if (event.type === "question.resolved") questions.delete(event.data.question_id);
  }
  return { permissions, questions };
}

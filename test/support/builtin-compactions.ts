/** Scenarios in which a conversation of the builtin agent is condensed. */
import { answer, type BuiltinRecording, call, ended, summaries, text, tooLong } from "./builtin-scenario.ts";

const listing = call("list", {}, "call_1");

export const compactions: readonly BuiltinRecording[] = [
  {
    name: "compaction",
    about: {
      what: "The provider says the prompt is too long: condensed, and tried again.",
      turns: [ended("completed"), ended("completed")],
    },
    prompts: ["First question", "Second question"],
    script: {
      turns: [answer(text("First answer.")), tooLong, answer(text("Second answer."))],
      side: summaries(answer(text("Goal: questions. Done: the first."))),
    },
  },
  {
    name: "compaction-tokens",
    about: { what: "The tokens in use reach the limit in the middle of the work.", turns: [ended("completed")] },
    prompts: ["Look around"],
    config: { limits: { "test-model": { context: 1_000, output: 100 } }, compaction: { tail: 0 } },
    script: {
      turns: [
        { type: "answer", blocks: [listing], usage: { input: 950, output: 10 } },
        answer(text("I have looked around.")),
      ],
      side: summaries(answer(text("Goal: look around. Done: listed."))),
    },
  },
  {
    name: "compaction-in-vain",
    about: { what: "Too long even after it was condensed.", turns: [ended("completed"), ended("error")] },
    prompts: ["First question", "Second question"],
    script: { turns: [answer(text("First answer.")), tooLong], side: summaries(answer(text("Goal: questions."))) },
  },
  {
    name: "compact",
    about: {
      what: "A compaction that was asked for is a turn of its own.",
      turns: [ended("completed"), ended("completed"), ended("completed")],
    },
    prompts: ["Talk", { type: "compact" }, "Go on"],
    script: {
      turns: [answer(text("Lots of talk.")), answer(text("On we go."))],
      side: summaries(answer(text("There was talk."))),
    },
  },
  {
    name: "compaction-empty",
    about: { what: "A prompt that is too long by itself: nothing can be condensed.", turns: [ended("error")] },
    prompts: ["A very long question"],
    script: { turns: [tooLong] },
  },
];

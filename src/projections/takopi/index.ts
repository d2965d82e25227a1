/** The Takopi projection: one run of a chat bridge per turn. */
import { defineProjection } from "../../core/projection.ts";
import { unstarted } from "./answer.ts";
import { takopiFold } from "./project.ts";
import { takopiRules } from "./rules.ts";
import { summariseTakopi } from "./summary.ts";

export { takopiFold } from "./project.ts";

export const takopi = defineProjection({
  name: "takopi",
  summary: "started, action and completed lines for chat bridges",
  form: "json",
  file: "takopi.jsonl",
  // A chat follows one conversation.
  sessions: "first",
  fold: takopiFold,
  rules: takopiRules,
  lane: { title: "Takopi", share: 20, summarise: summariseTakopi },
  // A bridge waits for `completed`; it is printed in every case.
  ending: { isLast: ({ type }) => type === "completed", missing: unstarted },
});

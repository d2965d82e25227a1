/** What a chat shows at the end of a run: the answer, never empty, and what went wrong. */
import type { TakopiEvent } from "../../dialects/takopi.ts";
import type { EndReason, TurnEnd } from "../../protocol/events.ts";
import type { Run } from "./state.ts";

/** What stands in for an answer when the agent said nothing. */
const silent: Readonly<Record<EndReason, string>> = {
  completed: "The agent finished without a message.",
  aborted: "The run was stopped before the agent answered.",
  error: "The run failed before the agent answered.",
  interrupted: "The run was cut off before the agent answered.",
  rejected: "The run ended because a request was rejected.",
  length: "The agent reached its output limit before it answered.",
  content_filter: "The provider's filter blocked the answer.",
  refusal: "The model refused to answer.",
  max_steps: "The agent reached its limit of steps before it answered.",
  budget: "The budget was used up before the agent answered.",
};

const problems: Readonly<Record<Exclude<EndReason, "completed">, string>> = {
  aborted: "aborted",
  error: "the agent failed",
  interrupted: "interrupted: the agent's stream ended before its turn was over",
  rejected: "rejected: a permission or question was rejected",
  length: "length: the output limit was reached",
  content_filter: "content_filter: the provider's filter blocked the answer",
  refusal: "refusal: the model refused",
  max_steps: "max_steps: the limit of steps was reached",
  budget: "budget: the budget is used up",
};

/** What was said after the last tool call; if that is nothing, what was said last; else a plain sentence. */
export function answerOf(run: Run, { reason }: TurnEnd): string {
  const last = run.saying.join("");
  if (last.trim() !== "") return last;
  return run.said.trim() === "" ? silent[reason] : run.said;
}

export function problemOf({ reason, error }: TurnEnd): string | null {
  if (reason === "completed") return null;
  return error?.message ?? problems[reason];
}

const ENGINE_LENGTH = 32;

/** An agent's name as Takopi takes names of engines. */
export const engineOf = (agent: string): string =>
  agent
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, "_")
    .slice(0, ENGINE_LENGTH);

/** The last line of a run that has no turn: the problem is what kept it from one, say an agent not installed. */
export const unstarted = ({ agent, problem }: { agent: string; problem: string | null }): TakopiEvent => ({
  type: "completed",
  engine: engineOf(agent),
  ok: false,
  answer: "The run could not be started.",
  resume: null,
  error: problem ?? "The run could not be started; standard error says why.",
  usage: null,
});

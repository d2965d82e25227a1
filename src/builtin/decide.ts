/**
 * After every model step: go on, stop, or compact first. A table, read from the top; the first row that applies
 * decides.
 * Everything the decision needs is in `Outcome`, so it can be tested row by row and explained afterwards.
 */
import type { EndReason, ErrorInfo } from "../protocol/events.ts";
import type { Failure } from "./failure.ts";

/** Why the model stopped, in the SDK's words; `unknown` when the provider gave no reason at all. */
export type Finish = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other" | "unknown";

export interface Outcome {
  /** The person or the host stopped the turn. */
  readonly aborted: boolean;
  /** What remains of an error when retrying is over or useless; null when the step finished. */
  readonly failure: Failure | null;
  /** Null when the step did not finish. */
  readonly finish: Finish | null;
  /** The provider itself said that the model refused. */
  readonly refused: boolean;
  /** Tools ran whose results the model has not seen. */
  readonly unseenResults: boolean;
  /** The step gave neither text nor reasoning nor a tool call. */
  readonly silent: boolean;
  /** A permission or question was rejected without a word to the model. */
  readonly rejected: boolean;
  /** The model repeats a call that was refused because it repeats it. */
  readonly doomed: boolean;
  /** A message of the user arrived for this turn and the model has not seen it. */
  readonly steered: boolean;
  /** The tokens in use have reached the usable window. */
  readonly overflow: boolean;
  /** The conversation was compacted, and no step since then has finished below the limit. */
  readonly compacted: boolean;
  /** This step ran without tools because it was the last one allowed. */
  readonly lastStep: boolean;
  /** The step before this one was empty too. */
  readonly triedAgain: boolean;
}

export interface DecisionRules {
  readonly continueOnDeny: boolean;
  readonly autoCompact: boolean;
}

export type Decision =
  | { readonly type: "continue"; readonly row: string }
  | { readonly type: "compact"; readonly row: string }
  | {
      readonly type: "stop";
      readonly row: string;
      readonly reason: EndReason;
      readonly error?: ErrorInfo;
    };

type Verdict = "continue" | "compact" | { readonly reason: EndReason; readonly error?: ErrorInfo };

interface Row {
  readonly name: string;
  readonly when: (outcome: Outcome, rules: DecisionRules) => boolean;
  readonly verdict: (outcome: Outcome) => Verdict;
}

const wantsMore = (outcome: Outcome): boolean =>
  outcome.unseenResults || outcome.steered || outcome.finish === "tool-calls";

export const decisionTable: readonly Row[] = [
  { name: "aborted", when: ({ aborted }) => aborted, verdict: () => ({ reason: "aborted" }) },
  {
    name: "context error",
    when: ({ failure, compacted }, { autoCompact }) => failure?.kind === "context" && autoCompact && !compacted,
    verdict: () => "compact",
  },
  {
    name: "context error that compaction does not cure",
    when: ({ failure }) => failure?.kind === "context",
    verdict: ({ failure, compacted }) => tooLong({ said: failure?.message ?? null, compacted }),
  },
  {
    name: "error",
    when: ({ failure }) => failure !== null,
    verdict: ({ failure }) => ({ reason: "error", error: infoOf(failure) }),
  },
  {
    name: "overflow",
    when: ({ overflow, compacted }, { autoCompact }) => overflow && autoCompact && !compacted,
    verdict: () => "compact",
  },
  {
    name: "rejected",
    when: ({ rejected }, { continueOnDeny }) => rejected && !continueOnDeny,
    verdict: () => ({ reason: "rejected" }),
  },
  { name: "doom loop", when: ({ doomed }) => doomed, verdict: () => ({ reason: "error", error: doomLoop }) },
  {
    name: "overflow that compaction does not cure",
    when: (outcome, { autoCompact }) => outcome.overflow && autoCompact && wantsMore(outcome),
    verdict: () => tooLong({ said: null, compacted: true }),
  },
  { name: "last step", when: endsAtLimit, verdict: () => ({ reason: "max_steps" }) },
  { name: "tool results to show", when: ({ unseenResults }) => unseenResults, verdict: () => "continue" },
  { name: "steered", when: ({ steered }) => steered, verdict: () => "continue" },
  { name: "refusal", when: ({ refused }) => refused, verdict: () => ({ reason: "refusal" }) },
  { name: "content filter", when: finished("content-filter"), verdict: () => ({ reason: "content_filter" }) },
  { name: "length", when: finished("length"), verdict: () => ({ reason: "length" }) },
  { name: "empty answer", when: (outcome) => isEmpty(outcome) && !outcome.triedAgain, verdict: () => "continue" },
  { name: "empty answer again", when: isEmpty, verdict: () => ({ reason: "error", error: noAnswer }) },
  { name: "error finish", when: finished("error"), verdict: () => ({ reason: "error", error: brokenAnswer }) },
  { name: "done", when: always, verdict: () => ({ reason: "completed" }) },
];

export function decide(outcome: Outcome, rules: DecisionRules): Decision {
  for (const { name: row, when, verdict: verdictOf } of decisionTable) {
    if (!when(outcome, rules)) continue;
    const verdict = verdictOf(outcome);
    return typeof verdict === "string" ? { type: verdict, row } : { type: "stop", row, ...verdict };
  }
  throw new Error("Invariant broken: the decision table has no last row");
}

/** Compaction is done: what the same step calls for now that there is room again. A step that failed is tried again. */
export function decideAfterCompaction(outcome: Outcome, rules: DecisionRules): Decision {
  if (outcome.failure?.kind === "context") return { type: "continue", row: "context error" };
  return decide({ ...outcome, overflow: false }, rules);
}

function always(): boolean {
  return true;
}

function finished(finish: Finish): (outcome: Outcome) => boolean {
  return (outcome) => outcome.finish === finish;
}

/** `unknown` without output, or `tool-calls` without a call: the provider did not say what it means. */
function isEmpty({ finish, silent, unseenResults }: Outcome): boolean {
  return (finish === "unknown" && silent) || (finish === "tool-calls" && !unseenResults);
}

function endsAtLimit({ lastStep, finish, refused }: Outcome): boolean {
  return lastStep && !refused && finish !== "length" && finish !== "content-filter" && finish !== "error";
}

const doomLoop: ErrorInfo = {
  message: "The model called the same tool with the same input again and again, with the same result. It was stopped.",
  code: "doom_loop",
  details: null,
};

const noAnswer: ErrorInfo = {
  message: "The model ended twice without an answer and without saying why. Try again, or choose another model.",
  code: "no_answer",
  details: null,
};

const brokenAnswer: ErrorInfo = {
  message: "The provider ended the model's answer with an error and did not say which.",
  code: "provider_error",
  details: null,
};

function infoOf(failure: Failure | null): ErrorInfo {
  if (failure === null) return brokenAnswer;
  return { message: failure.message, code: failure.code, details: { status: failure.status } };
}

function tooLong({ said, compacted }: { said: string | null; compacted: boolean }): {
  reason: "error";
  error: ErrorInfo;
} {
  const what = compacted
    ? "The conversation does not fit into the model's context, even after it was compacted."
    : "The conversation does not fit into the model's context, and automatic compaction is off.";
  const next = "Begin a new session, ask for less at once, or choose a model with a larger context.";
  const message = said === null ? `${what} ${next}` : `${what} ${next} The provider said: ${said}`;
  return { reason: "error", error: { message, code: "context_overflow", details: { compacted } } };
}

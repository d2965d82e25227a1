/**
 * The loop: a model step, its tools, a decision; again until the task is complete. A turn of the session and the work
 * of a child are the same loop over different conversations. It can be read in one sitting; the rules are elsewhere.
 */

import type { BuiltinSays } from "../dialects/builtin.ts";
import type { ErrorInfo } from "../protocol/events.ts";
import { type Repeats, runCalls } from "./calls.ts";
import { isOverflow } from "./compact.ts";
import { type Compacted, compactConversation, compactionPolicy } from "./compaction.ts";
import { type Conversation, estimateEntry, toMessages } from "./conversation.ts";
import { type Decision, type DecisionRules, decide, decideAfterCompaction, type Outcome } from "./decide.ts";
import type { OpenModel } from "./model.ts";
import { withRetries } from "./patience.ts";
import type { SessionContext } from "./session-context.ts";
import type { Speaker } from "./speaker.ts";
import { runStep, type StepResult } from "./step.ts";
import type { Tool } from "./tools/tool.ts";

export type Ending = Pick<Extract<BuiltinSays, { type: "end" }>, "reason"> & { readonly error?: ErrorInfo };

export interface Loop {
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly speaker: Speaker;
  readonly subagent: string | undefined;
  readonly signal: AbortSignal;
  readonly maxSteps: number;
  readonly repeats: Repeats;
  /** Asked before every step: a person may change model, mode and instructions in the middle. */
  readonly equip: () => Promise<{ readonly open: OpenModel; readonly system: string; readonly tools: readonly Tool[] }>;
  readonly delegate: (task: { callId: string; title: string; prompt: string; signal: AbortSignal }) => Promise<string>;
}

/** `stopped`: the abort came while we waited to try again. */
type Tried = StepResult | { readonly type: "stopped" };
type Equipment = Awaited<ReturnType<Loop["equip"]>>;

interface Progress {
  step: number;
  /** Compacted, and no step since has finished below the limit. */
  compacted: boolean;
  triedAgain: boolean;
}

export async function runLoop(loop: Loop): Promise<Ending> {
  const { conversation, signal } = loop;
  const progress: Progress = { step: 0, compacted: false, triedAgain: false };
  for (;;) {
    takeInbox(conversation);
    const equipment = await loop.equip();
    if (progress.step === 0) await makeRoom(loop, { equipment, progress });
    progress.step += 1;
    const lastStep = progress.step >= loop.maxSteps;
    const result = await modelStep(loop, { equipment, lastStep, step: progress.step });
    const answered = await answerCalls(loop, { result, equipment, lastStep });
    const outcome = outcomeOf(loop, { result, equipment, progress, lastStep, ...answered });
    let decision = decide(outcome, rulesOf(loop));
    if (decision.type === "compact" || (conversation.compactWanted && !signal.aborted)) {
      const compacted = await compact(loop, { equipment, progress, why: decision.row });
      if (compacted.type === "failed" && decision.type === "compact") return cannotGoOn({ compacted, outcome });
      if (decision.type === "compact") decision = decideAfterCompaction(outcome, rulesOf(loop));
    } else if (!outcome.overflow && result.type === "finished") {
      progress.compacted = false;
    }
    progress.triedAgain = decision.row === "empty answer";
    const ending = endingOf(decision, { steered: conversation.inbox.length > 0 && !signal.aborted });
    if (ending !== null) return ending;
  }
}

/** What the user said while the model was speaking comes after what the model said. */
function takeInbox({ entries, inbox }: Conversation): void {
  entries.push(...inbox.splice(0));
}

/** A turn may begin with a conversation that is too long already. If nothing can be cut, the provider will say so. */
async function makeRoom(
  loop: Loop,
  { equipment, progress }: { equipment: Equipment; progress: Progress },
): Promise<void> {
  const { conversation, context } = loop;
  const policy = compactionPolicy(context);
  const newest = conversation.entries.at(-1);
  const used = conversation.used === 0 || newest === undefined ? 0 : conversation.used + estimateEntry(newest);
  if (!isOverflow({ used, limits: equipment.open.choice.limits, policy })) return;
  await compact(loop, { equipment, progress, why: "overflow" });
}

const LAST_STEP =
  "This is the last step you have in this turn, and no tools are left. Say what was done, what is still open, and how " +
  "to go on.";

async function modelStep(
  loop: Loop,
  { equipment, lastStep, step }: { equipment: Equipment; lastStep: boolean; step: number },
): Promise<Tried> {
  const { context, conversation, speaker, signal, subagent } = loop;
  const messages = toMessages(conversation.entries);
  if (lastStep) messages.push({ role: "user", content: LAST_STEP });
  const tools = lastStep ? [] : equipment.tools;
  const { open, system } = equipment;
  const request = { open, system, messages, tools, signal, idleMs: context.world.idleMs };
  return withRetries({ context, signal, subagent }, () =>
    runStep({ request, speaker, step, message_id: context.nextId("msg") }),
  );
}

interface Answered {
  readonly rejected: boolean;
  readonly doomed: boolean;
  /** Tools were called, and the model shall see what came of it. */
  readonly answered: boolean;
}

/** Tools run only after the whole answer is there: one that broke off and is repeated must not run them twice. */
async function answerCalls(
  loop: Loop,
  { result, equipment, lastStep }: { result: Tried; equipment: Equipment; lastStep: boolean },
): Promise<Answered> {
  if (result.type === "aborted" && result.said.length > 0) {
    loop.conversation.entries.push({ type: "step", id: result.message_id, content: result.said, answers: [] });
  }
  if (result.type !== "finished") return { rejected: false, doomed: false, answered: false };
  const { context, conversation, repeats, signal, subagent, delegate } = loop;
  const { message_id: id, content, calls, tokens } = result;
  const tools = lastStep || result.finish === "content-filter" ? [] : equipment.tools;
  const { answers, rejected, doomed } = await runCalls({ context, calls, tools, repeats, signal, subagent, delegate });
  conversation.entries.push({ type: "step", id, content, answers });
  conversation.used = Object.values(tokens).reduce<number>((sum, one) => sum + Number(one), 0);
  return { rejected, doomed, answered: answers.length > 0 && tools.length > 0 };
}

function outcomeOf(
  { conversation, signal, context }: Loop,
  {
    result,
    equipment,
    progress,
    lastStep,
    rejected,
    doomed,
    answered,
  }: { result: Tried; equipment: Equipment; progress: Progress; lastStep: boolean } & Answered,
): Outcome {
  const finished = result.type === "finished" ? result : null;
  const { limits } = equipment.open.choice;
  const policy = compactionPolicy(context);
  return {
    aborted: signal.aborted || result.type === "aborted" || result.type === "stopped",
    failure: result.type === "failed" ? result.failure : null,
    finish: finished?.finish ?? null,
    refused: finished?.refused ?? false,
    unseenResults: answered,
    silent: finished === null || finished.content.length === 0,
    rejected,
    doomed,
    steered: conversation.inbox.length > 0,
    overflow: finished !== null && isOverflow({ used: conversation.used, limits, policy }),
    compacted: progress.compacted,
    lastStep,
    triedAgain: progress.triedAgain,
  };
}

async function compact(
  loop: Loop,
  { equipment, progress, why }: { equipment: Equipment; progress: Progress; why: string },
): Promise<Compacted> {
  const { context, conversation, signal, subagent } = loop;
  conversation.compactWanted = false;
  const compacted = await compactConversation({ context, conversation, open: equipment.open, signal, subagent, why });
  if (compacted.type === "done") progress.compacted = true;
  return compacted;
}

function cannotGoOn({
  compacted,
  outcome,
}: {
  compacted: Extract<Compacted, { type: "failed" }>;
  outcome: Outcome;
}): Ending {
  if (compacted.aborted) return { reason: "aborted" };
  const said = outcome.failure === null ? "" : ` The provider said: ${outcome.failure.message}`;
  const message = `The conversation is too long for the model and could not be compacted: ${compacted.message}${said}`;
  return { reason: "error", error: { message, code: "context_overflow", details: null } };
}

/** A prompt that comes in the last moment counts: a turn that was about to be complete goes on. */
function endingOf(decision: Decision, { steered }: { steered: boolean }): Ending | null {
  if (decision.type !== "stop") return null;
  const { reason, error } = decision;
  if (steered && reason === "completed") return null;
  if (reason === "interrupted" || reason === "budget")
    throw new Error(`Invariant broken: no row ends a loop with ${reason}`);
  return error === undefined ? { reason } : { reason, error };
}

const rulesOf = ({ context: { settings } }: Loop): DecisionRules => ({
  continueOnDeny: settings.experimental?.continue_loop_on_deny ?? false,
  autoCompact: settings.compaction?.auto ?? true,
});

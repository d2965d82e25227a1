/** Condenses a conversation: a model call without tools writes the summary, the newest entries stay as they are. */
import type { BuiltinSays } from "../dialects/builtin.ts";
import {
  type Cut,
  chooseCut,
  SUMMARY_SYSTEM,
  summaryEntry,
  summaryPrompt,
  tailBudget,
  usableTokens,
} from "./compact.ts";
import type { Conversation } from "./conversation.ts";
import type { OpenModel } from "./model.ts";
import { withRetries } from "./patience.ts";
import type { SessionContext } from "./session-context.ts";
import { runQuietly } from "./step.ts";

export type Compacted =
  | { readonly type: "done" }
  | { readonly type: "failed"; readonly message: string; readonly aborted: boolean; readonly empty: boolean };

export interface CompactionOptions {
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly open: OpenModel;
  readonly signal: AbortSignal;
  readonly subagent: string | undefined;
  readonly why: string;
}

/** Characters a summary's request may have where the model's limits are not known. */
const UNKNOWN_LIMIT = 400_000;
/** Cautious: code has fewer characters per token than prose. */
const CHARACTERS_PER_TOKEN = 3;

export async function compactConversation(options: CompactionOptions): Promise<Compacted> {
  const { context, conversation, open, subagent, why } = options;
  const id = context.nextId("cmp");
  // A child's conversation is not the session's: its compaction is only mentioned.
  const say = (line: BuiltinSays): Promise<void> => (subagent === undefined ? context.say(line) : Promise.resolve());
  await say({ type: "compaction.start", id, why });
  const fail = async (message: string, { aborted = false, empty = false } = {}): Promise<Compacted> => {
    await say({ type: "compaction.failed", id, message });
    return { type: "failed", message, aborted, empty };
  };
  const cut = chooseCut(conversation.entries, tailBudget(open.choice.limits, compactionPolicy(context)));
  if (cut === null) return fail("there is nothing that could be condensed", { empty: true });
  // After a wait the session compacts again, and says so.
  const again = (): Promise<void> => say({ type: "compaction.start", id, why });
  const summarised = await summarise(options, { cut, again });
  if (summarised.type === "stopped") return fail("aborted", { aborted: true });
  if (summarised.type === "failed") return fail(summarised.failure.message);
  if (summarised.text.trim() === "") return fail("the model wrote no summary");

  const entry = summaryEntry({ id, cut, summary: summarised.text });
  conversation.entries = [entry, ...cut.tail];
  conversation.used = 0;
  const summary = entry.type === "summary" ? entry.text : "";
  await say({
    type: "compaction.end",
    id,
    summary,
    kept: { from: cut.tail[0]?.id ?? null },
    tokens: summarised.tokens,
  });
  if (subagent !== undefined) {
    const detail = "The helper's conversation was condensed.";
    await context.say({ type: "notice", id, label: "compacted", detail, subagent });
  }
  return { type: "done" };
}

async function summarise(
  { context, open, signal, subagent }: CompactionOptions,
  { cut: { head }, again }: { cut: Cut; again: () => Promise<void> },
) {
  const { context: extra, prompt } = await context.hooks.trigger(
    "experimental.session.compacting",
    { sessionID: context.sessionId },
    { context: [] },
  );
  const usable = usableTokens(open.choice.limits, compactionPolicy(context));
  const limit = usable === null ? UNKNOWN_LIMIT : usable * CHARACTERS_PER_TOKEN;
  const text = summaryPrompt({ head, context: extra, prompt: prompt ?? null, limit });
  const request = {
    open,
    system: SUMMARY_SYSTEM,
    tools: [],
    signal,
    idleMs: context.world.idleMs,
    messages: [{ role: "user" as const, content: text }],
  };
  try {
    return await withRetries({ context, signal, subagent }, async (attempt) => {
      if (attempt > 1) await again();
      return runQuietly(request);
    });
  } catch (error) {
    if (signal.aborted) return { type: "stopped" as const };
    throw error;
  }
}

export const compactionPolicy = ({ settings: { compaction } }: SessionContext) => ({
  auto: compaction?.auto ?? true,
  reserved: compaction?.reserved,
  tail: compaction?.tail,
});

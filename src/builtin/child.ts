/** The work of a `task` call: a loop of its own over a conversation of its own, said under the child's name. */
import { trackRepeats } from "./calls.ts";
import type { Conversation } from "./conversation.ts";
import { runLoop } from "./loop.ts";
import type { OpenModel } from "./model.ts";
import type { SessionContext } from "./session-context.ts";
import type { Speaker } from "./speaker.ts";
import { childTools } from "./tools/index.ts";
import { Denied, ToolFailure } from "./tools/tool.ts";

export interface ChildTask {
  readonly callId: string;
  readonly title: string;
  readonly prompt: string;
  readonly signal: AbortSignal;
}

export interface Household {
  readonly context: SessionContext;
  readonly open: () => Promise<OpenModel>;
  readonly system: () => Promise<string>;
  readonly speakerFor: (subagent: string) => Speaker;
}

const MAX_STEPS = 100;

const manner =
  "You are a helper of another agent. Do the one piece of work you are given, then answer with a report: your last " +
  "message is all that agent will see of what you did.";

/** Resolves with the child's last words. */
export async function runChild(task: ChildTask, { context, open, system, speakerFor }: Household): Promise<string> {
  const { callId: call_id, title, prompt, signal } = task;
  const id = context.nextId("sub");
  const conversation: Conversation = {
    entries: [{ type: "user", id: `${id}/user`, text: prompt, parts: [] }],
    used: 0,
    inbox: [],
    compactWanted: false,
  };
  await context.say({ type: "subagent.start", id, call_id, name: "general", title });
  let failed = true;
  try {
    const ending = await runLoop({
      context,
      conversation,
      signal,
      speaker: speakerFor(id),
      subagent: id,
      maxSteps: Math.min(MAX_STEPS, context.settings.maxSteps ?? MAX_STEPS),
      repeats: trackRepeats(),
      equip: async () => ({ open: await open(), system: `${await system()}\n\n${manner}`, tools: childTools }),
      delegate: async () => {
        throw new ToolFailure("A helper has no helpers of its own.");
      },
    });
    signal.throwIfAborted();
    failed = ending.reason !== "completed" && ending.reason !== "max_steps";
    // Who says no to a helper says no to the turn.
    if (ending.reason === "rejected") throw new Denied("The user refused this.", { by: "person", silent: true });
    if (failed) throw new ToolFailure(`The helper ended with ${ending.reason}${why(ending.error?.message)}.`);
    return lastWords(conversation) || "The helper said nothing.";
  } finally {
    await context.say({ type: "subagent.end", id, failed });
  }
}

const why = (message: string | undefined): string => (message === undefined ? "" : `: ${message}`);

function lastWords({ entries }: Conversation): string {
  const last = entries.findLast((entry) => entry.type === "step");
  if (last?.type !== "step") return "";
  return last.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

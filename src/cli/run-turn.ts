/** One turn of `franca run`: the prompt is sent, its events are shown, requests are answered, signals stop it. */
import { defined } from "../core/defined.ts";
import type { BudgetLimits } from "../protocol/budget.ts";
import type { Attachment } from "../protocol/commands.ts";
import type { EventOf } from "../protocol/events.ts";
import { type AnswerRule, openAnswering } from "./answering.ts";
import type { Door } from "./door.ts";
import type { Output } from "./output.ts";
import { onSignals } from "./signals.ts";

/** After SIGTERM: interrupt at once, terminate and kill so many milliseconds later. */
export const STOP_LADDER = { terminateMs: 500, killMs: 1200 };

/** How many events are read at a time. */
const PAGE = 1_000;

export interface Turn {
  readonly door: Door;
  readonly session: string;
  /** It was made for this prompt: all of its events are of interest. */
  readonly made: boolean;
  readonly prompt: string;
  readonly attachments: readonly Attachment[];
  /** What the turn may use; undefined for no limit of its own. */
  readonly budget: BudgetLimits | undefined;
  readonly rule: AnswerRule;
  readonly output: Output;
}

export async function runTurn({
  door,
  session,
  made,
  prompt,
  attachments,
  budget,
  rule,
  output,
}: Turn): Promise<EventOf<"turn.ended"> | null> {
  const stopping = new AbortController();
  const abort = (): void => void door.abort(session).catch((error: unknown) => output.say(String(error)));
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts += 1;
    process.exitCode = 130;
    if (interrupts > 2) process.exit(130);
    if (interrupts > 1) return stopping.abort();
    output.say("Stopping the turn; press Ctrl-C again to quit.");
    answering.stop();
    abort();
  };
  const answering = openAnswering({ door, session, rule, output, onCancel: interrupt });
  // Kept when the turn is over: the agent is still to be stopped then.
  onSignals({
    interrupt,
    terminate: () => {
      answering.stop();
      abort();
      // The agent is gone by then; whatever has not been said by its turn will not be.
      // Counted from the kill, which comes late where the machine is busy.
      setTimeout(() => setTimeout(() => stopping.abort(), 400).unref(), STOP_LADDER.killMs).unref();
    },
  });
  try {
    const { promptId, sequence } = await door.prompt(session, prompt, { attachments, ...defined({ budget }) });
    if (!made) await learnPast({ door, session, output, upTo: sequence });
    let turnId: string | null = null;
    for await (const event of door.follow(session, { after: made ? 0 : sequence, signal: stopping.signal })) {
      if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.data.turn_id;
      // A session that is busy with something else runs the prompt later; until then nothing of it is ours to show.
      if (turnId === null && !made) {
        output.learn?.(event);
        continue;
      }
      output.event(event);
      answering.see(event);
      if (event.type === "turn.ended" && event.turn_id === turnId) {
        if (interrupts === 0) process.exitCode = event.data.reason === "completed" ? 0 : 1;
        return event;
      }
    }
    if (interrupts === 0) process.exitCode = 1;
    return null;
  } finally {
    answering.stop();
  }
}

interface Past extends Pick<Turn, "door" | "session" | "output"> {
  readonly upTo: number;
}

async function learnPast({ door, session, output, upTo }: Past): Promise<void> {
  const { learn } = output;
  if (learn === undefined) return;
  for (let offset = 0; offset < upTo; ) {
    const { events } = await door.events(session, { offset, limit: Math.min(PAGE, upTo - offset), includeRaw: false });
    if (events.length === 0) return;
    for (const event of events) learn(event);
    offset += events.length;
  }
}

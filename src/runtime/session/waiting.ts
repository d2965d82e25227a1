/** Commands for a session that no living host may run: prompts are stored for the next one, and can be taken back. */
import { preview } from "../../core/lifecycle.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { QueuedPrompt } from "../../protocol/events.ts";
import { promptId, type SessionId } from "../../protocol/ids.ts";
import type { EventLog } from "../log/contract.ts";
import type { PromptReceipt, PromptRequest } from "./contract.ts";
import type { OpenSessions } from "./open-session.ts";
import { promptFrom } from "./prompt.ts";
import { adapterOf } from "./refusals.ts";

/** Null where a host has come meanwhile. */
type Unserved<Args extends readonly unknown[], T> = (
  id: SessionId,
  ...args: Args
) => Promise<{ readonly result: T } | null>;

export const promptWaiting =
  ({ runtime }: OpenSessions): Unserved<[PromptRequest], PromptReceipt> =>
  async (id, request) => {
    const { log } = runtime;
    const record = await log.find(id);
    if (record === null || log.cluster === null) throw new ApiError("session_not_found", `There is no session ${id}.`);
    const { settings, summary } = record;
    if (summary.ended)
      throw new ApiError("session_ended", `Session ${id} has ended: it can be read, but takes nothing more.`);
    if ((request.attachments ?? []).length > 0) {
      const why = `No living host may run session ${id} now, and files are read by its host`;
      throw new ApiError("host_unavailable", `${why}: send this prompt again later, or without them.`);
    }
    const prompt = promptFrom(runtime, { adapter: adapterOf(runtime, settings.create.agent), settings }, request);
    const { delivery = "queue", idempotencyKey = null } = request;
    const added = await log.cluster.addWaiting(id, {
      prompt,
      delivery,
      idempotencyKey,
      sequence: summary.lastSequence,
    });
    if (added === null) return null;
    const { waiting } = await log.cluster.placement(id);
    const { stored, fresh } = added;
    const receipt = { promptId: stored.prompt.prompt_id, fresh, sequence: stored.sequence };
    return { result: waiting === null ? receipt : { ...receipt, waiting } };
  };

export const dropWaiting =
  ({ runtime }: OpenSessions): Unserved<[string], void> =>
  async (id, prompt) => {
    const isDropped = await runtime.log.cluster?.dropWaiting(id, promptId(prompt));
    if (isDropped === false)
      throw new ApiError("prompt_not_found", `Session ${id} has no prompt ${prompt} in its queue.`);
    return isDropped === true ? { result: undefined } : null;
  };

/** With what is stored for the next host, which nobody has written into the session's log. */
export async function waitingQueue(
  log: EventLog,
  id: SessionId,
  queue: readonly QueuedPrompt[],
): Promise<readonly QueuedPrompt[]> {
  const known = new Set(queue.map(({ prompt_id }) => prompt_id));
  const stored = (await log.queuedPrompts(id)).filter(({ prompt }) => !known.has(prompt.prompt_id));
  return [...queue, ...stored.map(({ prompt }) => ({ prompt_id: prompt.prompt_id, preview: preview(prompt) }))];
}

/** Stores a group, and retries while the log cannot be written: until then nothing else happens in the session. */
import { ApiError } from "../../protocol/errors.ts";
import type { Append } from "../log/contract.ts";
import { type InputEntry, isLines, type Waiter, type WriterState } from "./writer-state.ts";

const RETRY_FIRST_MS = 100;
const RETRY_LONGEST_MS = 2_000;

export interface Storing {
  readonly append: Append;
  readonly done: readonly Waiter[];
  readonly after: () => void;
}

/** Stores a group. An error affects only this session. */
export function storeInBackground(state: WriterState, storing: Storing): void {
  store(state, storing).catch(state.onBroken);
}

/** The agent waits meanwhile; callers get the error at the first failure. */
async function store(state: WriterState, storing: Storing): Promise<void> {
  try {
    await state.log.append(storing.append);
  } catch (error) {
    if (!state.closed) return onFailure(state, { storing, error });
    for (const { reject } of storing.done) reject(error);
    return;
  }
  if (state.storageError !== null) state.logger.info("log.recovered", { session: state.id });
  state.storageError = null;
  state.retries = 0;
  storing.after();
}

function onFailure(state: WriterState, { storing, error }: { storing: Storing; error: unknown }): void {
  if (!(error instanceof ApiError) || error.code !== "storage_error") {
    for (const { reject } of storing.done) reject(error);
    state.onBroken(error);
    return;
  }
  if (state.storageError === null) state.logger.error("log.failed", { session: state.id, error });
  state.storageError = error;
  for (const { reject } of storing.done) reject(error);
  refuseQueued(state, error);
  rejectWaiters(state, error);
  const delay = Math.min(RETRY_FIRST_MS * 2 ** state.retries, RETRY_LONGEST_MS);
  state.retries += 1;
  state.retryTimer = state.system.after(delay, () => storeInBackground(state, { ...storing, done: [] }));
}

export function rejectWaiters({ flushWaiters, storedWaiters }: WriterState, error: unknown): void {
  for (const { reject } of [...flushWaiters.splice(0), ...storedWaiters.splice(0)]) reject(error);
}

/** A prompt is stored before it is given to the writer: it runs when the log can be written again. */
export const isPrompt = ({ input }: Pick<InputEntry, "input">): boolean =>
  input.type === "command" && input.command.type === "prompt";

/** Callers in the queue get the error too. Their commands are dropped, except prompts, which are stored already. */
function refuseQueued(state: WriterState, error: ApiError): void {
  const waiting = state.queue.splice(0);
  for (const entry of waiting) {
    if (isLines(entry)) {
      state.queue.push(entry);
      continue;
    }
    entry.done?.reject(error);
    if (entry.done === null) state.queue.push(entry);
    else if (isPrompt(entry)) state.queue.push({ ...entry, done: null });
  }
}

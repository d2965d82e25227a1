/** Commands for the turn of an open session: compact and shell, answers to requests, abort, terminate. */
import { defined } from "../../core/defined.ts";
import type { Session } from "../../core/session.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Command, PermissionAnswer } from "../../protocol/commands.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { promptId, turnId } from "../../protocol/ids.ts";
import { noExit } from "../agent/connection/contract.ts";
import type { System } from "../system.ts";
import { isEnded, type OpenSession, stopAgent, untilIdle } from "./open-session.ts";
import { cannot, refuseEnded } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";
import { refuseShell } from "./shell.ts";

/** How long a shared agent has to obey an abort before the session is terminated. */
const ABORT_MS = 3_000;

/** The agent compacts its conversation. */
export async function compact(open: OpenSession): Promise<void> {
  const { adapter } = open;
  if (!adapter.capabilities.compact) throw cannot(adapter, "compact its conversation");
  await promptlessTurn(open, { type: "compact" });
}

/** A person's command: run by the agent where it does that, else beside it. */
export async function shell(
  runtime: Runtime,
  open: OpenSession,
  { command, clientId }: { readonly command: string; readonly clientId?: string | undefined },
): Promise<{ readonly turnId: string }> {
  refuseShell(runtime, open);
  return { turnId: await promptlessTurn(open, { type: "shell", command, ...defined({ client_id: clientId }) }) };
}

/** Resolves with the turn's id when its beginning is stored. */
async function promptlessTurn(
  open: OpenSession,
  command: Extract<Command, { type: "compact" | "shell" }>,
): Promise<string> {
  let turn = "";
  await open.writer.command(command, (session) => {
    refuseEnded(open);
    const now = session.snapshot();
    turn = turnId(open.id, now.turns + 1);
    if (now.turn === null) return;
    const code = command.type === "shell" ? "session_busy" : "invalid_request";
    throw new ApiError(code, `Session ${open.id} is busy: wait until it is idle, or abort its turn.`);
  });
  return turn;
}

interface Answering {
  readonly id: string;
  readonly kind: "permission" | "question";
  readonly command: Command;
  /** Throws if the open request cannot be answered like this. */
  readonly check?: (session: Session) => void;
}

/** The first answer wins; later ones are refused. */
export function answer(open: OpenSession, { id, kind, command, check }: Answering): Promise<void> {
  return open.writer.command(command, (session: Session) => {
    const state = session.request(id);
    if (state === "answered") {
      throw new ApiError("already_answered", `The ${kind} request ${id} has been answered or withdrawn.`);
    }
    if (state === "open" && isOfKind(session, { id, kind })) return check?.(session);
    throw new ApiError(`${kind}_not_found`, `Session ${open.id} has no ${kind} request ${id}.`);
  });
}

/** Refuses a scope that the request does not offer. */
export function checkScope(session: Session, permission: string, { reply, scope }: PermissionAnswer): void {
  if (scope === undefined) return;
  if (reply !== "always") throw new ApiError("invalid_request", "`scope` can only be given with the reply `always`.");
  const offered = session.snapshot().permissions.get(permission)?.metadata.scopes ?? [];
  if (offered.includes(scope)) return;
  const list = offered.length === 0 ? "It offers none." : `It offers: ${offered.map((one) => `"${one}"`).join(", ")}.`;
  throw new ApiError("invalid_request", `The permission request does not offer the scope "${scope}". ${list}`);
}

function isOfKind(session: Session, { id, kind }: { id: string; kind: "permission" | "question" }): boolean {
  const { permissions, questions } = session.snapshot();
  return kind === "permission" ? permissions.has(id) : questions.has(id);
}

export interface AbortOptions {
  readonly clearQueue: boolean;
  /** Only this prompt, whether it waits or runs. One that is over, or unknown, changes nothing. */
  readonly promptId?: string;
}

export async function abort(open: OpenSession, { clearQueue, promptId: id }: AbortOptions): Promise<void> {
  const only = id === undefined ? {} : { prompt_id: promptId(id) };
  try {
    await open.writer.command({ type: "abort", clear_queue: clearQueue, ...only }, (session) => {
      if (id !== undefined && !isUnderway(session, id)) throw new NothingToAbort();
    });
  } catch (error) {
    if (error instanceof NothingToAbort) return;
    // The abort cannot be stored now, but the agent must stop all the same.
    if (hasCode(error, "storage_error")) await stopAgent(open, noExit);
    throw error;
  }
}

/** Whether it still waits is decided where the queue is, so a prompt that starts meanwhile is never stopped. */
export function dropQueued(open: OpenSession, id: string): Promise<void> {
  return open.writer.command({ type: "abort", clear_queue: false, prompt_id: promptId(id) }, (session) => {
    if (session.snapshot().queue.some(({ prompt_id }) => prompt_id === id)) return;
    throw new ApiError("prompt_not_found", `Session ${open.id} has no prompt ${id} in its queue.`);
  });
}

class NothingToAbort extends Error {}

function isUnderway(session: Session, id: string): boolean {
  const { turn, queue } = session.snapshot();
  return turn?.prompt_id === id || queue.some(({ prompt_id }) => prompt_id === id);
}

/** Resolves when the session has ended and nothing of its agent runs any more. */
export async function terminate({ system }: Pick<Runtime, "system">, open: OpenSession): Promise<void> {
  if (isEnded(open)) return;
  if (open.link.isShared() && open.session.snapshot().turn !== null) await abortFirst(system, open);
  open.ending = true;
  open.revoke();
  await open.shell?.stop({ silently: false });
  // The agent goes first, so that the session's end can say how it went.
  const exit = await open.link.end();
  try {
    const known = exit?.code === null ? {} : defined({ exit_code: exit?.code });
    await open.writer.command({ type: "terminate", by: "user", ...known, ...defined({ stderr: exit?.stderr }) });
  } catch (error) {
    open.ending = false;
    open.writer.feed({ type: "disconnected", exit: exit ?? noExit });
    throw error;
  }
}

/**
 * Ends a session that nobody uses; throws `session_busy` when it works, waits for a person, has prompts waiting, or is
 * not as the caller saw it any more.
 */
export async function endIdle(open: OpenSession, isUnchanged: (now: Snapshot) => boolean): Promise<void> {
  if (isEnded(open)) return;
  await open.writer.command({ type: "terminate", by: "daemon" }, (session) => {
    const now = session.snapshot();
    const { turn, queue, permissions, questions } = now;
    const isAtRest = turn === null && queue.length === 0 && permissions.size === 0 && questions.size === 0;
    if (isAtRest && isUnchanged(now)) return;
    throw new ApiError("session_busy", `Session ${open.id} is in use, or was a moment ago.`);
  });
}

/** An agent that other sessions share keeps running, so its turn in this session is aborted first. */
async function abortFirst(system: System, open: OpenSession): Promise<void> {
  await open.writer.command({ type: "abort", clear_queue: true });
  await untilIdle(system, open, ABORT_MS);
}

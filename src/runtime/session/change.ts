/** What is asked of a session that exists: prompts, changes, its own turns, its end. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Session } from "../../core/session.ts";
import type { Attachment, Command, Prompt, PromptExtras, SessionChange } from "../../protocol/commands.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { promptId } from "../../protocol/ids.ts";
import type { UpdateSession } from "../../protocol/resources.ts";
import { noExit } from "../agent/connection/contract.ts";
import type { Runtime } from "../runtime.ts";
import type { PromptReceipt, PromptRequest } from "./contract.ts";
import { cannot, checkMode, checkPermissionMode, whoCan } from "./create.ts";
import { cut, isEnded, type Live, overQuota, refuseEnded, untilIdle } from "./live.ts";

/** How long a shared agent has to obey before its session is ended. */
const OBEY_MS = 3_000;

/** Stored, then acknowledged. Once it is stored it will run, whatever happens next. */
export async function prompt(runtime: Runtime, live: Live, request: PromptRequest): Promise<PromptReceipt> {
  refuseEnded(live);
  const message = overQuota(runtime);
  if (message !== null) throw new ApiError("storage_error", message);
  const asked = promptFrom(runtime, live, request);
  const delivery = request.delivery ?? "queue";
  const { stored, fresh } = await runtime.log.addPrompt(live.id, {
    prompt: asked,
    delivery,
    idempotencyKey: request.idempotencyKey ?? null,
    sequence: live.session.snapshot().sequence,
  });
  const receipt = { promptId: stored.prompt.prompt_id, fresh, sequence: stored.sequence };
  if (!fresh) return receipt;
  const refusal = await live.drive
    .ask({ type: "prompt", prompt: asked, delivery }, () => refuseEnded(live))
    .then(
      () => null,
      (error: unknown) => error,
    );
  // A log that is stuck holds it up but does not lose it; anything else means that it will not run.
  if (refusal === null || hasCode(refusal, "storage_error")) return receipt;
  await runtime.log.dropPrompt(live.id, asked.prompt_id);
  throw refusal;
}

/** A request in the words of the machine; what the agent would not understand is refused, never left out. */
export function promptFrom(runtime: Runtime, live: Live, request: PromptRequest): Prompt {
  const { text, attachments = [], clientId, extras = {} } = request;
  const { adapter } = live;
  for (const name of extraNames) {
    // The words say the same as a command.
    if (extras[name] === undefined || name === "command") continue;
    if (adapter.capabilities.extras?.includes(name) === true) continue;
    const can = whoCan(runtime, (capabilities) => capabilities.extras?.includes(name) === true);
    throw cannot(adapter, `take \`${name}\` with a prompt: ${can}`);
  }
  return {
    prompt_id: promptId(randomUUID()),
    text,
    attachments: attachmentsOf(live, attachments),
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(extraNames.every((name) => extras[name] === undefined) ? {} : { extras }),
  };
}

const extraNames = [
  "system",
  "format",
  "tools",
  "command",
  "subtask",
  "agent",
] as const satisfies readonly (keyof PromptExtras)[];

function attachmentsOf({ settings }: Live, attachments: readonly Attachment[]): Attachment[] {
  return attachments.map((attachment) => {
    const path = resolve(settings.create.directory ?? ".", attachment.path);
    if (!existsSync(path)) throw new ApiError("invalid_request", `The attachment ${path} does not exist.`);
    return { ...attachment, path };
  });
}

export interface Updating {
  readonly asked: UpdateSession;
  readonly standIn: boolean;
}

export async function update(runtime: Runtime, live: Live, { asked, standIn }: Updating): Promise<void> {
  refuseEnded(live);
  const { title, model, variant, agentMode, permissionMode } = asked;
  const change: SessionChange = {
    ...(title === undefined ? {} : { title }),
    ...(model === undefined ? {} : { model }),
    ...(variant === undefined ? {} : { variant }),
    ...(agentMode === undefined ? {} : { mode: agentMode }),
    ...(permissionMode === undefined ? {} : { permission_mode: permissionMode }),
  };
  checkChange(live, change);
  // The next start of the agent asks for the same.
  const settings = { ...live.settings, create: { ...live.settings.create, ...asked } };
  await runtime.log.changeSettings(live.id, settings);
  live.settings = settings;
  await live.drive.ask({ type: "set", change, ...(standIn ? { standIn } : {}) });
}

function checkChange({ adapter, session, link }: Live, change: SessionChange): void {
  if (change.mode !== undefined) checkMode(adapter, change.mode);
  if (change.permission_mode !== undefined) checkPermissionMode(adapter, change.permission_mode);
  // Before the agent has begun everything may still be chosen.
  const begun = link.isOpen() || session.snapshot().native_session_id !== null;
  for (const name of ["model", "variant", "mode", "permission_mode"] as const) {
    if (change[name] === undefined || !begun || adapter.capabilities.set.includes(name)) continue;
    throw cannot(adapter, `change its ${name.replace("_", " ")} in mid-session`);
  }
}

export function ownTurn(live: Live, command: Extract<Command, { type: "compact" | "shell" }>): Promise<void> {
  refuseEnded(live);
  const { adapter } = live;
  if (!adapter.capabilities[command.type]) {
    throw cannot(adapter, command.type === "compact" ? "compact its conversation" : "run a shell command for you");
  }
  return live.drive.ask(command, (session) => {
    if (session.snapshot().turn === null) return;
    throw new ApiError("invalid_request", `Session ${live.id} is busy: wait until it is idle, or abort its turn.`);
  });
}

/** The first answer wins; later ones are told so. */
export function answer(
  live: Live,
  { id, kind, command }: { id: string; kind: "permission" | "question"; command: Command },
): Promise<void> {
  return live.drive.ask(command, (session: Session) => {
    const state = session.request(id);
    if (state === "answered") {
      throw new ApiError("already_answered", `The ${kind} request ${id} has been answered or withdrawn.`);
    }
    if (state === "open" && isOfKind(session, { id, kind })) return;
    throw new ApiError(`${kind}_not_found`, `Session ${live.id} has no ${kind} request ${id}.`);
  });
}

function isOfKind(session: Session, { id, kind }: { id: string; kind: "permission" | "question" }): boolean {
  const { permissions, questions } = session.snapshot();
  return kind === "permission" ? permissions.has(id) : questions.has(id);
}

export async function abort(live: Live, { clearQueue }: { clearQueue: boolean }): Promise<void> {
  try {
    await live.drive.ask({ type: "abort", clear_queue: clearQueue });
  } catch (error) {
    // Nothing can be written now, but "stop" means stop.
    if (hasCode(error, "storage_error")) await cut(live, noExit);
    throw error;
  }
}

/** Resolves when the session has ended and nothing of its agent runs any more. */
export async function terminate(live: Live): Promise<void> {
  if (isEnded(live)) return;
  if (live.link.isShared() && live.session.snapshot().turn !== null) await obey(live);
  await live.drive.ask({ type: "terminate", by: "user" });
  await live.link.end({ unheard: true });
}

/** An agent that others use too is not ended with the session: it is asked to leave off first. */
async function obey(live: Live): Promise<void> {
  await live.drive.ask({ type: "abort", clear_queue: true });
  await untilIdle(live, OBEY_MS);
}

/** The prompt command: stored first, then acknowledged. A stored prompt will run, whatever happens next. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defined } from "../../core/defined.ts";
import type { Attachment, Prompt, PromptExtras } from "../../protocol/commands.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { promptId } from "../../protocol/ids.ts";
import type { PromptReceipt, PromptRequest } from "./contract.ts";
import { refuseInUse } from "./in-use.ts";
import { refuseMissingKeys } from "./keys.ts";
import type { OpenSession } from "./open-session.ts";
import { overQuota } from "./quota.ts";
import { cannot, refuseEnded, whoCan } from "./refusals.ts";
import { finishRevert } from "./rewind.ts";
import type { Runtime } from "./runtime.ts";

/** Every change of the queue is an event that lists it, so what waits must not grow without bound. */
const QUEUED_PROMPTS = 100;

export async function prompt(runtime: Runtime, open: OpenSession, request: PromptRequest): Promise<PromptReceipt> {
  refuseEnded(open);
  refuseMissingKeys(runtime, open);
  await refuseInUse(runtime, open);
  const message = overQuota(runtime);
  if (message !== null) throw new ApiError("storage_error", message);
  await finishRevert(runtime, open);
  const asked = promptFrom(runtime, open, request);
  const delivery = request.delivery ?? "queue";
  const { stored, fresh } = await runtime.log.addPrompt(open.id, {
    prompt: asked,
    delivery,
    idempotencyKey: request.idempotencyKey ?? null,
    sequence: open.session.snapshot().sequence,
  });
  await runtime.spending.inform(open);
  const receipt = { promptId: stored.prompt.prompt_id, fresh, sequence: stored.sequence };
  if (!fresh) return receipt;
  const refusal = await open.writer
    .command({ type: "prompt", prompt: asked, delivery }, () => {
      refuseEnded(open);
      refuseFull(open);
    })
    .then(
      () => null,
      (error: unknown) => error,
    );
  // A log that cannot be written delays the prompt but does not lose it; any other error means that it will not run.
  if (refusal === null || hasCode(refusal, "storage_error")) return receipt;
  // It is stored, and a daemon runs its queue after the next start.
  if (runtime.closed && runtime.options.role === "daemon" && hasCode(refusal, "internal")) return receipt;
  await runtime.log.dropPrompt(open.id, asked.prompt_id);
  throw refusal;
}

function refuseFull({ id, session }: OpenSession): void {
  if (session.snapshot().queue.length < QUEUED_PROMPTS) return;
  const why = `Session ${id} has ${QUEUED_PROMPTS} prompts waiting already: wait until some have run, or drop some.`;
  throw new ApiError("session_busy", why);
}

type Prompted = Pick<OpenSession, "adapter" | "settings">;

/** A request as the turn machine's prompt; what the agent would not understand is refused, never left out. */
export function promptFrom(runtime: Runtime, open: Prompted, request: PromptRequest): Prompt {
  const { attachments = [], clientId } = request;
  const { adapter } = open;
  const { text, extras = {} } = withSystem(open, request);
  for (const name of extraNames) {
    // The text says the same as a command, and as its parts.
    if (extras[name] === undefined || name === "command" || name === "parts") continue;
    if (adapter.capabilities.extras?.includes(name) === true) continue;
    const can = whoCan(runtime, (capabilities) => capabilities.extras?.includes(name) === true);
    throw cannot(adapter, `take \`${name}\` with a prompt: ${can}`);
  }
  return {
    prompt_id: promptId(runtime.system.newId()),
    text,
    attachments: attachmentsOf(open, attachments),
    ...defined({
      client_id: clientId,
      budget: request.budget,
      extras: extraNames.every((name) => extras[name] === undefined) ? undefined : extras,
    }),
  };
}

/** Instructions for one prompt stand before its words for an agent that has no other place for them. */
function withSystem({ adapter }: Prompted, request: PromptRequest): Pick<PromptRequest, "text" | "extras"> {
  const { text, extras = {} } = request;
  const { system, ...others } = extras;
  if (system === undefined || adapter.capabilities.extras?.includes("system") === true) return { text, extras };
  const parts = [{ text: system, synthetic: true }, ...(extras.parts ?? [{ text }])];
  return { text: `${system}\n\n${text}`, extras: { ...others, parts } };
}

const extraNames = [
  "parts",
  "system",
  "format",
  "tools",
  "command",
  "subtask",
  "agent",
] as const satisfies readonly (keyof PromptExtras)[];

function attachmentsOf({ settings }: Prompted, attachments: readonly Attachment[]): Attachment[] {
  return attachments.map((attachment) => {
    const path = resolve(settings.create.directory ?? ".", attachment.path);
    if (!existsSync(path)) throw new ApiError("invalid_request", `The attachment ${path} does not exist.`);
    return { ...attachment, path };
  });
}

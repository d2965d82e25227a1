/** The tool `ask`: a prompt to any agent, its turn followed to the end, its requests relayed to the root session. */
import { defined } from "../../core/defined.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import type { Authority } from "./authority.ts";
import { failure, type ToolResult } from "./result.ts";

export interface AskArguments {
  readonly prompt: string;
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: "plan" | "default" | "acceptEdits" | "bypass" | undefined;
  readonly directory?: string | undefined;
  readonly title?: string | undefined;
}

export interface Asking {
  readonly sessions: Sessions;
  readonly defaultAgent: string;
  readonly authority: Authority;
  /** Says how far it is. */
  readonly progress: (message: string) => void;
  /** The caller has left, or has cancelled. */
  readonly signal: AbortSignal;
}

export async function ask(asking: Asking, asked: AskArguments): Promise<ToolResult> {
  const { authority, sessions } = asking;
  const work = await authority.enter();
  const signal = AbortSignal.any([asking.signal, work.signal]);
  try {
    const id = await sessionFor(asking, asked);
    signal.throwIfAborted();
    const { promptId, sequence } = await sessions.prompt(id, { text: asked.prompt });
    const abort = (): void => void sessions.abort(id, { clearQueue: false, promptId }).catch(() => {});
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await followTurn({ ...asking, signal }, { id, promptId, sequence });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  } finally {
    work.leave();
  }
}

async function sessionFor({ authority, defaultAgent, progress }: Asking, asked: AskArguments): Promise<SessionId> {
  const { session, agent = defaultAgent, model, permissionMode, directory, title } = asked;
  if (session === undefined) {
    const id = await authority.start({ agent, ...defined({ model, permissionMode, directory, title }) });
    progress(`Started session ${id} with ${agent}`);
    return id;
  }
  const id = sessionId(session);
  await authority.check(id);
  return id;
}

interface Prompted {
  readonly id: SessionId;
  readonly promptId: string;
  readonly sequence: number;
}

async function followTurn(asking: Asking, { id, promptId, sequence }: Prompted): Promise<ToolResult> {
  const texts: string[] = [];
  let turnId: string | null = null;
  for await (const group of asking.sessions.follow(id, { after: sequence, signal: asking.signal })) {
    for (const event of group.events(sequence)) {
      if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.turn_id;
      if (turnId === null || event.turn_id !== turnId) continue;
      await note(asking, { id, event, texts });
      if (event.type !== "turn.ended") continue;
      const { reason, usage, error } = event.data;
      const answer = texts.join("\n\n");
      const text = answer === "" ? (error?.message ?? `The agent said nothing. The turn ended: ${reason}.`) : answer;
      return {
        content: [{ type: "text", text: `${text}\n\n[session ${id}]` }],
        structuredContent: { session: id, reason, answer, usage, ...defined({ error: error?.message }) },
        isError: reason !== "completed",
      };
    }
  }
  return failure(`The call was cancelled, and the turn of session ${id} was stopped.`);
}

interface Noted {
  readonly id: SessionId;
  readonly event: UniversalEvent;
  readonly texts: string[];
}

async function note({ sessions, progress }: Asking, { id, event, texts }: Noted): Promise<void> {
  switch (event.type) {
    case "item.completed": {
      const { item } = event.data;
      if (item.kind !== "message" || item.role !== "assistant" || item.subagent !== undefined) return;
      for (const part of item.content) if (part.type === "text" && part.text !== "") texts.push(part.text);
      return;
    }
    case "item.started":
      for (const part of event.data.item.content) if (part.type === "tool_call") progress(part.title ?? part.name);
      return;
    case "permission.requested":
    case "question.requested":
      progress("Waits for a person");
      return sessions.delegates.relay(id, event);
    case "permission.resolved":
    case "question.resolved":
      return sessions.delegates.relay(id, event);
    default:
      return;
  }
}

/** A prompt as a function call: the answer of its turn, its text as it is written, and handlers for what is asked. */
import type { PermissionReply } from "../protocol/commands.ts";
import { ApiError } from "../protocol/errors.ts";
import type {
  EndReason,
  ErrorInfo,
  Permission,
  QuestionRequest,
  TurnEnd,
  UniversalEvent,
  UsageTotal,
} from "../protocol/events.ts";
import type { FileRefPart, Item } from "../protocol/items.ts";
import { type Ask, type AskOptions, askSession, sessionPath, TurnError } from "./ask.ts";
import { shown, UsageError } from "./usage.ts";

/** `once`, `always` (for this session) or `reject`; with a message, the agent gets it as the reason. */
export type PermissionAnswer = PermissionReply | { readonly reply: PermissionReply; readonly message?: string };

/** Text: the answer to the only question. Lists: the answers to each question, in order. Null: it is rejected. */
export type QuestionAnswer = string | readonly (readonly string[])[] | null;

export interface RunOptions extends AskOptions {
  /** Answers a permission request. Absent: it is rejected. `"wait"`: it is left to other clients and the policy. */
  readonly onPermission?: ((request: Permission) => PermissionAnswer | Promise<PermissionAnswer>) | "wait" | undefined;
  /** Answers a question. Absent: it is rejected. `"wait"`: as above. */
  readonly onQuestion?: ((request: QuestionRequest) => QuestionAnswer | Promise<QuestionAnswer>) | "wait" | undefined;
  /** Gets every event of the turn, for example to show progress. */
  readonly onEvent?: ((event: UniversalEvent) => void) | undefined;
}

export interface ChangedFile {
  /** As the agent named it. */
  readonly path: string;
  /** What happened to it, where the agent reports that. */
  readonly change: FileRefPart["change"] | null;
}

export interface RunResult {
  /** The agent's answer: its text after the last tool call, else its last text; empty when it wrote none. */
  readonly text: string;
  /** How the turn ended: `completed`, or why not. */
  readonly reason: EndReason;
  /** Null when nothing went wrong. */
  readonly error: ErrorInfo | null;
  /** Tokens and cost of the turn. */
  readonly usage: UsageTotal;
  /** Files that were written in the turn. */
  readonly files: readonly ChangedFile[];
  readonly turnId: string;
}

interface Run extends Ask {
  readonly options: RunOptions;
}

export async function runPrompt(run: Run): Promise<RunResult> {
  const answer = openAnswer();
  for await (const event of answered(run)) {
    answer.see(event);
    if (event.type === "turn.ended") return { ...answer.result(), ...endOf(event.data) };
  }
  throw new TurnError("The session ended before the turn did.", { reason: "interrupted" });
}

const endOf = ({ turn_id, reason, error, usage }: TurnEnd) => ({
  turnId: turn_id,
  reason,
  error: error ?? null,
  usage,
});

export async function* streamText(run: Run): AsyncGenerator<string> {
  const blocks = new Set<string>();
  let written = "";
  for await (const event of answered(run)) {
    if (event.type === "item.started" && isAnswer(event.data.item)) blocks.add(event.data.item.item_id);
    if (event.type === "item.delta" && event.data.part === "text" && blocks.has(event.data.item_id)) {
      const { delta, item_id } = event.data;
      if (written !== "" && written !== item_id) yield "\n\n";
      written = item_id;
      yield delta;
    }
    if (event.type === "turn.ended" && event.data.reason !== "completed") throw turnError(event.data);
  }
}

const turnError = ({ reason, error }: TurnEnd): TurnError =>
  new TurnError(`The turn ended with reason ${reason}${error === undefined ? "" : `: ${error.message}`}`, {
    reason,
    error: error ?? null,
  });

/** What the agent itself says to the user; a subagent speaks to its agent. */
const isAnswer = ({ kind, role, subagent }: Item): boolean =>
  kind === "message" && role === "assistant" && subagent === undefined;

/** The turn's events, with each request answered by its handler. What a handler throws aborts the turn. */
async function* answered({ options, ...ask }: Run): AsyncGenerator<UniversalEvent> {
  const { onPermission, onQuestion, onEvent, ...asked } = options;
  const failed = new AbortController();
  const signal = asked.signal === undefined ? failed.signal : AbortSignal.any([asked.signal, failed.signal]);
  const handle = (work: Promise<void>): void => void work.catch((error: unknown) => failed.abort(error));
  for await (const event of askSession({ ...ask, options: { ...asked, signal } })) {
    onEvent?.(event);
    if (event.type === "permission.requested" && onPermission !== "wait") {
      handle(answerPermission(ask, event.data, onPermission));
    }
    if (event.type === "question.requested" && onQuestion !== "wait") {
      handle(answerQuestion(ask, event.data, onQuestion));
    }
    yield event;
  }
}

type Place = Pick<Ask, "http" | "id">;

async function answerPermission(
  place: Place,
  request: Permission,
  handler: Exclude<RunOptions["onPermission"], "wait">,
): Promise<void> {
  const path = `permissions/${encodeURIComponent(request.permission_id)}/reply`;
  const answer = handler === undefined ? unhandled("onPermission") : await handler(request);
  const body = typeof answer === "string" ? { reply: answer } : answer;
  if (!["once", "always", "reject"].includes(body?.reply)) {
    throw new UsageError(`onPermission returned ${shown(answer)}; it must return "once", "always" or "reject".`);
  }
  await reply(place, { path, body });
}

const unhandled = (name: string) => ({
  reply: "reject" as const,
  message: `The program that sent this prompt has no ${name} handler.`,
});

async function answerQuestion(
  place: Place,
  request: QuestionRequest,
  handler: Exclude<RunOptions["onQuestion"], "wait">,
): Promise<void> {
  const path = `questions/${encodeURIComponent(request.question_id)}`;
  const answer = handler === undefined ? null : await handler(request);
  if (answer === null) {
    const { message } = unhandled("onQuestion");
    return reply(place, { path: `${path}/reject`, body: handler === undefined ? { message } : {} });
  }
  if (typeof answer !== "string" && !Array.isArray(answer)) {
    throw new UsageError(`onQuestion returned ${shown(answer)}; it must return text, a list of lists, or null.`);
  }
  await reply(place, { path: `${path}/reply`, body: { answers: typeof answer === "string" ? [[answer]] : answer } });
}

/** The first answer counts: another client may have been quicker, or the turn is over. */
async function reply({ http, id }: Place, { path, body }: { path: string; body: object }): Promise<void> {
  try {
    await http.request(`${sessionPath(id)}/${path}`, { method: "POST", body });
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) throw error;
  }
}

/** Collects the answer and the files of a turn. */
function openAnswer() {
  let blocks: string[] = [];
  let before = "";
  const files = new Map<string, ChangedFile>();
  const onItem = (item: Item): void => {
    for (const part of item.content) {
      if (part.type === "file_ref" && part.action !== "read") {
        files.set(part.path, { path: part.path, change: part.change ?? files.get(part.path)?.change ?? null });
      }
      if (part.type === "tool_call" && part.tool_kind !== "note" && item.subagent === undefined && blocks.length > 0) {
        before = blocks.join("\n\n");
        blocks = [];
      }
      if (!isAnswer(item)) continue;
      if (part.type === "text" && part.text.trim() !== "") blocks.push(part.text);
      if (part.type === "json") blocks.push(JSON.stringify(part.json));
    }
  };
  return {
    see: (event: UniversalEvent): void => {
      if (event.type === "item.completed") onItem(event.data.item);
    },
    result: () => ({ text: blocks.length > 0 ? blocks.join("\n\n") : before, files: [...files.values()] }),
  };
}

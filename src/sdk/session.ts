/** One session, as a client sees it: prompts, answers, events. */
import type { PermissionReply } from "../protocol/commands.ts";
import type { SessionStatus, UniversalEvent } from "../protocol/events.ts";
import type { EventPage, NativePage, SessionDetail, UpdateSession } from "../protocol/resources.ts";
import type { SessionDiff } from "../protocol/workspaces.ts";
import { type AskOptions, askSession, followSession, type PromptOptions, sendPrompt, sessionPath } from "./ask.ts";
import type { Http } from "./http.ts";
import { type RunOptions, type RunResult, runPrompt, streamText } from "./run.ts";
import { checkCount, checkId, checkOptions, checkText, shown, UsageError } from "./usage.ts";

export interface FollowOptions {
  /** The sequence after which to begin; 0, the beginning, when absent. */
  readonly after?: number | undefined;
  readonly includeRaw?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PageOptions {
  readonly offset?: number;
  readonly limit?: number;
}

export interface Session {
  readonly id: string;
  /** Status, open requests, queue, todos, usage and the last items. */
  readonly get: (page?: { readonly itemsBefore?: string; readonly limit?: number }) => Promise<SessionDetail>;
  readonly status: () => Promise<SessionStatus>;
  /** Sends a prompt and gives its id; does not wait for the turn. */
  readonly prompt: (text: string, options?: PromptOptions) => Promise<string>;
  /**
   * Sends a prompt and waits until its turn is over. Resolves however the turn ended: `reason` says how. A permission
   * or a question that no handler answers is rejected. When `signal` fires, the turn is aborted.
   */
  readonly run: (text: string, options?: RunOptions) => Promise<RunResult>;
  /**
   * Sends a prompt and gives the agent's text as it is written, with an empty line between blocks. Throws `TurnError`
   * when the turn does not complete. Options as for `run`.
   */
  readonly text: (text: string, options?: RunOptions) => AsyncIterable<string>;
  /**
   * Sends a prompt and gives the events of its turn, from `turn.started` to `turn.ended`, across reconnects. When
   * `signal` fires, the turn is aborted; leaving the loop does not abort it.
   */
  readonly ask: (text: string, options?: AskOptions) => AsyncIterable<UniversalEvent>;
  /** Aborts the running turn; with `promptId` only that prompt, whether it waits in the queue or runs. */
  readonly abort: (options?: { readonly clearQueue?: boolean; readonly promptId?: string }) => Promise<void>;
  /** Removes a prompt from the queue; one that has started already is not touched, and the call is refused. */
  readonly dropQueued: (promptId: string) => Promise<void>;
  readonly replyPermission: (
    permissionId: string,
    reply: PermissionReply,
    options?: { readonly scope?: string; readonly message?: string },
  ) => Promise<void>;
  readonly replyQuestion: (questionId: string, answers: readonly (readonly string[])[]) => Promise<void>;
  readonly rejectQuestion: (questionId: string, options?: { readonly message?: string }) => Promise<void>;
  /** History and then what comes. Reconnects from the last sequence: nothing lost, nothing twice. */
  readonly events: (options?: FollowOptions) => AsyncIterable<UniversalEvent>;
  readonly listEvents: (options?: PageOptions & { readonly includeRaw?: boolean }) => Promise<EventPage>;
  readonly listNative: (options?: PageOptions) => Promise<NativePage>;
  readonly update: (change: UpdateSession) => Promise<void>;
  readonly compact: () => Promise<void>;
  /** What the session changed in files. */
  readonly diff: () => Promise<SessionDiff>;
  /** Gives the id of the new session. */
  readonly fork: (options?: { readonly sessionId?: string }) => Promise<string>;
  readonly stopContinuing: () => Promise<void>;
  readonly terminate: () => Promise<void>;
  readonly delete: () => Promise<void>;
}

const PROMPT = ["attachments", "delivery", "budget", "idempotencyKey", "signal"];
const ASK = [...PROMPT, "abortTurn", "includeRaw"];
const RUN = [...ASK, "onPermission", "onQuestion", "onEvent"];

export function openSession(http: Http, id: string): Session {
  checkId(id, { what: "The id of a session" });
  const path = sessionPath(id);
  const post = async (action: string, body: object = {}): Promise<void> => {
    await http.request(`${path}/${action}`, { method: "POST", body });
  };
  const get = (page: object = {}) => http.json<SessionDetail>(path, { query: { ...page } });
  const requestOf = (kind: "permissions" | "questions", requestId: string) =>
    `${kind}/${encodeURIComponent(requestId)}`;
  return {
    id,
    get,
    status: async () => (await get({ limit: 0 })).status,
    prompt: async (text, options = {}) => {
      checkPrompt(text, options, { of: "session.prompt", known: PROMPT });
      return (await sendPrompt({ http, path: `${path}/messages`, text, options })).promptId;
    },
    run: async (text, options = {}) => {
      checkPrompt(text, options, { of: "session.run", known: RUN });
      return runPrompt({ http, id, text, options });
    },
    text: (text, options = {}) => {
      checkPrompt(text, options, { of: "session.text", known: RUN });
      return streamText({ http, id, text, options });
    },
    ask: (text, options = {}) => {
      checkPrompt(text, options, { of: "session.ask", known: ASK });
      return askSession({ http, id, text, options });
    },
    abort: (options = {}) => post("abort", options),
    dropQueued: async (promptId) => {
      await http.request(`${path}/queue/${encodeURIComponent(promptId)}`, { method: "DELETE" });
    },
    replyPermission: (permissionId, reply, options = {}) =>
      post(`${requestOf("permissions", permissionId)}/reply`, { reply, ...options }),
    replyQuestion: async (questionId, answers) => {
      checkAnswers(answers);
      return post(`${requestOf("questions", questionId)}/reply`, { answers });
    },
    rejectQuestion: (questionId, options = {}) => post(`${requestOf("questions", questionId)}/reject`, options),
    events: (options = {}) => {
      checkOptions(options, { of: "session.events", known: ["after", "includeRaw", "signal"] });
      checkCount(options.after, { what: "session.events: `after`, the sequence of an event," });
      return followSession({ http, id, ...options });
    },
    listEvents: ({ includeRaw, ...page } = {}) =>
      http.json(`${path}/events`, { query: { ...page, include_raw: includeRaw } }),
    listNative: (page = {}) => http.json(`${path}/native`, { query: { ...page } }),
    update: async (change) => void (await http.request(path, { method: "PATCH", body: change })),
    compact: () => post("compact"),
    diff: () => http.json(`${path}/diff`),
    fork: async (options = {}) => {
      const forked = await http.json<{ sessionId: string }>(`${path}/fork`, { method: "POST", body: options });
      return forked.sessionId;
    },
    stopContinuing: () => post("stop-continuing"),
    terminate: () => post("terminate"),
    delete: async () => void (await http.request(path, { method: "DELETE" })),
  };
}

function checkPrompt(
  text: unknown,
  options: AskOptions,
  { of, known }: { of: string; known: readonly string[] },
): void {
  checkOptions(options, { of, known });
  checkText(text, { of, attachments: options.attachments?.length ?? 0 });
}

function checkAnswers(answers: unknown): void {
  if (Array.isArray(answers) && answers.every((one) => Array.isArray(one))) return;
  throw new UsageError(
    `session.replyQuestion takes one list of answers for each question, like [["Yes"]], not ${shown(answers)}.`,
  );
}

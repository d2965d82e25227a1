/** Routes that drive turns: prompts, abort, and the answers to what an agent asks. */
import type { IncomingMessage } from "node:http";
import type * as z from "zod";
import { defined } from "../../core/defined.ts";
import type { Attachment } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import {
  AbortSession,
  RejectQuestion,
  ReplyPermission,
  ReplyQuestion,
  SendMessage,
  type SentAttachment,
} from "../../protocol/requests.ts";
import type { PromptReceipt, PromptRequest } from "../../runtime/session/contract.ts";
import { keepForSession } from "../hosts/attachments.ts";
import { type Call, defineRoute, empty, type Route, sent, sessionOf } from "../http/route.ts";
import { rawQuery } from "./raw-events.ts";
import { streamTurn } from "./turn-stream.ts";

const MAX_KEY_LENGTH = 256;

const promptHeaders = {
  "Idempotency-Key": "A prompt with a key that this session has seen is not run again; it gets the same answer.",
};
const promptIdHeader = { "Franca-Prompt-Id": "Names the prompt in `turn.started` and in the queue." };

const waitingHeader = {
  "Franca-Waiting":
    "Why the prompt does not run yet: no living host may run its session, and it is stored for the next.",
};

const send = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/messages",
  access: "prompt",
  doc: {
    id: "sendMessage",
    tag: "Turns",
    summary: "Send a prompt",
    description:
      "Answers as soon as the prompt is stored. While a turn runs it is queued, or steered into the turn where the agent can and `delivery` asks for it.",
    errors: ["session_not_found", "session_ended", "session_owned", "not_supported"],
    answers: "empty",
    requestHeaders: promptHeaders,
    answerHeaders: { ...promptIdHeader, ...waitingHeader },
  },
  body: SendMessage,
  handle: async (call) => {
    const { promptId, waiting } = await prompt(call);
    // A label may have any characters, a header may not.
    const shown = waiting?.replaceAll(/[^ -~]/g, "?");
    return empty({ "Franca-Prompt-Id": promptId, ...(shown === undefined ? {} : { "Franca-Waiting": shown }) });
  },
});

const sendAndStream = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/messages/stream",
  access: "prompt",
  doc: {
    id: "streamMessage",
    tag: "Turns",
    summary: "Send a prompt and stream its turn",
    description:
      "The events of the turn that runs the prompt, from `turn.started` to `turn.ended`; then the stream ends. Leaving early does not abort the turn.",
    errors: ["session_not_found", "session_ended", "session_owned", "not_supported"],
    answers: "events",
    requestHeaders: promptHeaders,
    answerHeaders: promptIdHeader,
  },
  query: rawQuery,
  body: SendMessage,
  handle: async (call) => {
    const receipt = await prompt(call);
    await streamTurn({ call, session: sessionOf(call), receipt });
    return sent;
  },
});

const abort = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/abort",
  access: "abort",
  doc: {
    id: "abortSession",
    tag: "Turns",
    summary: "Abort the running turn",
    description:
      "Ends the turn with reason `aborted` within a bounded time. While idle it changes nothing. With `promptId`, only " +
      "that prompt is aborted: it leaves the queue, or its turn ends; a prompt that is over changes nothing.",
    errors: ["session_not_found"],
    answers: "empty",
  },
  body: AbortSession,
  bodyOptional: true,
  handle: async (call) => {
    const { clearQueue = false, promptId } = call.body;
    await call.sessions.abort(sessionOf(call), { clearQueue, ...defined({ promptId }) });
    return empty();
  },
});

const dropQueued = defineRoute({
  method: "delete",
  path: "/v1/sessions/{id}/queue/{promptId}",
  access: "abort",
  doc: {
    id: "dropQueuedPrompt",
    tag: "Turns",
    summary: "Remove a prompt from the queue",
    description:
      "Only while it waits: a prompt that has started, is over or is unknown is 404, and its turn is left alone.",
    errors: ["session_not_found", "prompt_not_found"],
    answers: "empty",
  },
  handle: async (call) => {
    await call.sessions.dropQueued(sessionOf(call), call.params.promptId ?? "");
    return empty();
  },
});

const replyPermission = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/permissions/{permissionId}/reply",
  access: "answer",
  doc: {
    id: "replyPermission",
    tag: "Requests",
    summary: "Answer a permission request",
    description:
      "The first answer counts. `always` also allows exactly the same action for the rest of the session (`metadata.patterns`), or the broader `scope` that is given, which must be one of `metadata.scopes`.",
    errors: ["session_not_found", "permission_not_found", "already_answered", "invalid_request"],
    answers: "empty",
  },
  body: ReplyPermission,
  handle: async (call) => {
    const { reply, scope, message } = call.body;
    const answer = { reply, ...defined({ scope, message }) };
    await call.sessions.replyPermission(sessionOf(call), call.params.permissionId ?? "", answer);
    return empty();
  },
});

const replyQuestion = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/questions/{questionId}/reply",
  access: "answer",
  doc: {
    id: "replyQuestion",
    tag: "Requests",
    summary: "Answer a question",
    description:
      "One list of answers for each question, in order: labels of options, or own words where they are accepted.",
    errors: ["session_not_found", "question_not_found", "already_answered"],
    answers: "empty",
  },
  body: ReplyQuestion,
  handle: async (call) => {
    await call.sessions.replyQuestion(sessionOf(call), call.params.questionId ?? "", call.body.answers);
    return empty();
  },
});

const rejectQuestion = defineRoute({
  method: "post",
  path: "/v1/sessions/{id}/questions/{questionId}/reject",
  access: "answer",
  doc: {
    id: "rejectQuestion",
    tag: "Requests",
    summary: "Reject a question",
    description: "The agent continues without an answer, or ends its turn.",
    errors: ["session_not_found", "question_not_found", "already_answered"],
    answers: "empty",
  },
  body: RejectQuestion,
  bodyOptional: true,
  handle: async (call) => {
    const { message } = call.body;
    const options = message === undefined ? {} : { message };
    await call.sessions.rejectQuestion(sessionOf(call), call.params.questionId ?? "", options);
    return empty();
  },
});

async function prompt(call: Call<unknown, z.infer<typeof SendMessage>>): Promise<PromptReceipt> {
  const { message, attachments, delivery, budget } = call.body;
  if (message.trim() === "" && (attachments ?? []).length === 0) {
    throw new ApiError("invalid_request", "The message is empty: write what the agent shall do.");
  }
  const key = idempotencyKey(call.incoming);
  const kept = attachments === undefined ? undefined : await keep(call, attachments);
  const request: PromptRequest = {
    text: message,
    ...defined({ attachments: kept, delivery, budget, idempotencyKey: key ?? undefined }),
  };
  return call.sessions.prompt(sessionOf(call), request);
}

/** What came as data becomes a file; nothing is written for a session that does not exist. */
async function keep(
  call: Call<unknown, unknown>,
  attachments: readonly SentAttachment[],
): Promise<readonly Attachment[]> {
  const session = sessionOf(call);
  if (attachments.some((one) => "data" in one)) await call.sessions.get(session, { limit: 0 });
  return Promise.all(
    attachments.map(async (one) => {
      const { mime, filename } = one;
      if ("path" in one) return { path: one.path, ...defined({ mime, filename }) };
      const content = { bytes: Buffer.from(one.data, "base64"), mime: one.mime };
      const path = await keepForSession(call, { content, session });
      return { path, ...defined({ mime, filename }) };
    }),
  );
}

function idempotencyKey({ headers }: IncomingMessage): string | null {
  const value = headers["idempotency-key"];
  if (value === undefined) return null;
  const key = Array.isArray(value) ? value.join(",") : value;
  if (key.length > 0 && key.length <= MAX_KEY_LENGTH) return key;
  throw new ApiError("invalid_request", `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`);
}

export const turnRoutes: readonly Route[] = [
  send,
  sendAndStream,
  abort,
  dropQueued,
  replyPermission,
  replyQuestion,
  rejectQuestion,
];

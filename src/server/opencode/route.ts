/** What a route of the OpenCode surface takes and answers, and errors in OpenCode's own shapes. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import { ApiError } from "../../protocol/errors.ts";
import type { Action } from "../../protocol/tokens.ts";
import type { Caller } from "../credentials/access.ts";
import { holdsFolder, ownerOnly } from "../credentials/credential.ts";
import type { Reply } from "../http/reply.ts";
import { decoded, readJson } from "../http/request.ts";
import type { ServerContext } from "../http/route.ts";
import type { EventStreams } from "./events.ts";
import type { PassThrough } from "./pass-through.ts";
import type { Catalogue } from "./providers.ts";
import type { SessionViews } from "./session-views.ts";
import type { Turns } from "./turns.ts";
import type { Undo } from "./undo.ts";

export interface OpenCodeContext extends ServerContext {
  readonly views: SessionViews;
  readonly catalogue: Catalogue;
  readonly turns: Turns;
  readonly streams: EventStreams;
  /** OpenCode's own server, for what is not about a conversation. */
  readonly passThrough: PassThrough;
  /** Where files that come with prompts are kept. */
  readonly attachments: string;
  /** Takes back files and conversation, for agents that do not do it themselves. */
  readonly undo: Undo;
}

export interface OpenCodeCall extends OpenCodeContext {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** What stands for `*` in the path, as it was sent. */
  readonly rest: string;
  readonly directory: string;
  /** The agent that a session without a model gets: the daemon's, or the one named in the address. */
  readonly agent: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: <Schema extends z.ZodType>(schema: Schema) => Promise<z.infer<Schema>>;
}

/** What a handler gives: JSON, JSON in pieces, a file, nothing (204), or the word that it has answered. */
export type OpenCodeAnswer =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly mime: string }
  | { readonly json: unknown; readonly status?: number }
  | { readonly pieces: AsyncIterable<string>; readonly headers?: Readonly<Record<string, string>> }
  | "empty"
  | "sent";

export interface OpenCodeRoute {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** As in OpenCode's document: `/session/{sessionID}`. */
  readonly path: string;
  /** What a credential needs; absent: only the owner may. */
  readonly action?: Action;
  /** What is missing, where something is. */
  readonly partial?: string;
  readonly handle: (call: OpenCodeCall) => Promise<OpenCodeAnswer>;
}

const JSON_HEADERS = { "content-type": "application/json" } as const;

export const respond = (status: number, body: unknown): Reply => ({
  status,
  headers: JSON_HEADERS,
  body: JSON.stringify(body),
});

/** What this server does not do, and why, in OpenCode's error shape. */
export const notImplemented = (message: string): Reply => respond(501, { name: "NotImplemented", data: { message } });

export const json = (value: unknown): OpenCodeAnswer => ({ json: value });
export const inPieces = (pieces: AsyncIterable<string>): OpenCodeAnswer => ({ pieces });

interface DirectoryOptions extends Pick<NamedDirectory, "query" | "headers"> {
  /** Without one it is where the daemon runs. */
  readonly fallback?: string;
}

/** The directory that a request names by query or by header (URL-encoded). */
export function directoryOf({ query, headers, fallback = process.cwd() }: DirectoryOptions): string {
  const header = headers["x-opencode-directory"];
  const given = query.directory ?? query["location[directory]"] ?? (typeof header === "string" ? decoded(header) : "");
  if (given.includes("\0")) throw new ApiError("invalid_request", "The directory holds a NUL character.");
  return given === "" ? fallback : given;
}

interface NamedDirectory {
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly caller: Caller;
}

/** The directory of a request, as far as the caller's credential gives access to it. Its first folder unless named. */
export function directoryFor({ query, headers, caller }: NamedDirectory): string {
  const folders = caller.type === "owner" ? null : caller.credential.folders;
  const directory = directoryOf({ query, headers, fallback: folders?.[0] ?? process.cwd() });
  if (caller.type === "owner" || holdsFolder(caller.credential, directory)) return directory;
  throw ownerOnly(`The folder ${directory}`);
}

/** Both versions of the SDK send a body or none; fields that we do not know are not ours to refuse. */
export async function readBody<Schema extends z.ZodType>(
  incoming: IncomingMessage,
  schema: Schema,
  { maxBytes }: { maxBytes: number },
): Promise<z.infer<Schema>> {
  const value = await readJson(incoming, { maxBytes, optional: true });
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new ApiError(
    "invalid_request",
    `The body${where === "" ? "" : `: \`${where}\``}: ${issue?.message ?? "wrong"}`,
  );
}

/** An error in the words that OpenCode's clients show. */
export function errorBody(
  error: ApiError,
  { sessionID = "", requestID = "" }: Readonly<Record<string, string>>,
): { readonly status: number; readonly body: unknown } {
  const { status, message, code } = error;
  switch (code) {
    case "session_busy":
      return { status, body: { _tag: "SessionBusyError", sessionID, message } };
    case "permission_not_found":
      return { status, body: { _tag: "PermissionNotFoundError", requestID, message } };
    case "question_not_found":
      return { status, body: { _tag: "QuestionNotFoundError", requestID, message } };
    case "already_answered":
    case "session_already_exists":
    case "session_ended":
    case "session_owned":
      return { status, body: { _tag: "ConflictError", message, resource: code } };
    default:
      break;
  }
  if (status === 404) return { status, body: { name: "NotFoundError", data: { message } } };
  if (status < 500) return { status, body: { name: "BadRequest", data: { message, kind: "Payload" } } };
  return { status, body: { name: "UnknownError", data: { message } } };
}

/** The same in the words of the newer API. */
export function nextErrorBody(
  error: ApiError,
  { params, isRead }: { readonly params: Readonly<Record<string, string>>; readonly isRead: boolean },
): { readonly status: number; readonly body: unknown } {
  const { sessionID = "", messageID = "", requestID = "" } = params;
  const { status, message, code } = error;
  if (code === "session_not_found") return { status, body: { _tag: "SessionNotFoundError", sessionID, message } };
  if (code === "not_found" && messageID !== "") {
    return { status, body: { _tag: "MessageNotFoundError", sessionID, messageID, message } };
  }
  const known = errorBody(error, params).body;
  if (typeof known === "object" && known !== null && "_tag" in known) return { status, body: { ...known, requestID } };
  if (sessionID !== "" && !sessionID.startsWith("ses"))
    return { status, body: { _tag: "InvalidRequestError", message, field: "sessionID" } };
  const isNamedWrong = messageID !== "" && !messageID.startsWith("msg_");
  const kind = isNamedWrong ? "Params" : isRead ? "Query" : "Payload";
  if (status < 500) return { status, body: { _tag: "InvalidRequestError", message, kind } };
  return { status, body: { _tag: "ServiceUnavailableError", message, service: "franca" } };
}

/** An id from the clock, for what is not in the log, or not yet. */
export function freshId(prefix: "evt" | "msg"): string {
  const stamp = (BigInt(Date.now()) * 0x1000n).toString(16).slice(-12);
  return `${prefix}_${stamp}${randomBytes(7).toString("hex")}`;
}

export const notSupported = (what: string): ApiError => new ApiError("not_supported", what);

export const sessionMissing = (id: string): ApiError => new ApiError("session_not_found", `Session not found: ${id}`);

/**
 * A route as data: what it takes, what it answers, and what it does. The server and the OpenAPI document read the same
 * table.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import type { ErrorCode } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type * as protocol from "../../protocol/index.ts";
import type { Action } from "../../protocol/tokens.ts";
import type { Background } from "../../runtime/background.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import type { Webhooks } from "../../runtime/webhooks/webhooks.ts";
import type { Caller, LimitedAccess } from "../credentials/access.ts";
import type { Credentials } from "../credentials/store.ts";
import type { Metrics } from "../metrics.ts";
import type { HostCalls } from "./host-calls.ts";

/** What every route may use. */
export interface ServerContext {
  readonly sessions: Sessions;
  readonly metrics: Metrics;
  readonly background: Pick<Background, "start" | "run" | "failing">;
  readonly webhooks: Webhooks;
  readonly credentials: Credentials;
  /** What shows a client that this daemon knows the token, and a page that it knows its credential; null if not. */
  readonly prove: (nonce: string, login?: string) => Proofs;
  /** Calls between the hosts that share the log; null where it is this machine's alone. */
  readonly hostCalls: HostCalls | null;
  /** Where files are kept that come inside a request. */
  readonly attachments: string;
  readonly logger: Logger;
  readonly version: string;
  /** The agent of sessions that name none, on surfaces where that is possible. */
  readonly defaultAgent: string;
  /** The largest body taken, in bytes. */
  readonly maxBodyBytes: number;
  /** How often a silent stream says that it lives. */
  readonly heartbeatMs: number;
  /** Aborted when the daemon stops: long answers end then. */
  readonly stopped: AbortSignal;
}

export interface Proofs {
  readonly port: number;
  readonly proof: string | null;
  /** Only where a page asked. */
  readonly loginProof?: string | null;
}

export interface Call<Query, Body> extends ServerContext {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export type Answer =
  | { readonly type: "json"; readonly body: unknown; readonly status?: 201 }
  | { readonly type: "text"; readonly text: string; readonly contentType: string }
  | { readonly type: "empty"; readonly headers?: Readonly<Record<string, string>> }
  /** The handler has written on the node response itself. */
  | { readonly type: "sent" };

export type Method = "get" | "post" | "patch" | "delete";

/** What the document says of a route besides its schemas. */
export interface RouteDoc {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Codes beyond those every route may give. */
  readonly errors: readonly ErrorCode[];
  readonly answers: "json" | "text" | "empty" | "events";
  /** Headers that are read, with their meaning. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** Needs no token. */
  readonly open?: boolean;
  /** Needs the token itself: credentials that were made from it are refused. */
  readonly personal?: boolean;
  /** Answers 201. */
  readonly created?: boolean;
}

type Protocol = typeof protocol;
/** The schema of an answer, by its name: only the OpenAPI document needs it. */
export type AnswerName = { [Name in keyof Protocol]: Protocol[Name] extends z.ZodType ? Name : never }[keyof Protocol];

export interface Route {
  readonly method: Method;
  /** As in OpenAPI: `/v1/sessions/{id}`. */
  readonly path: string;
  /** What a credential needs to use it; null: only the owner may. */
  readonly access: LimitedAccess | null;
  readonly doc: RouteDoc;
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  readonly answer: AnswerName | z.ZodType | null;
  /** An absent body counts as `{}`. */
  readonly bodyOptional: boolean;
  readonly handle: (call: Call<z.infer<z.ZodObject>, unknown>) => Promise<Answer>;
}

export interface RouteDefinition<Query extends z.ZodObject, Body extends z.ZodType> {
  readonly method: Method;
  readonly path: string;
  /** The action that a credential needs, on the surface `v1` unless another is named. Absent: only the owner may. */
  readonly access?: Action | LimitedAccess;
  readonly doc: RouteDoc;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer?: AnswerName | z.ZodType;
  readonly bodyOptional?: boolean;
  readonly handle: (call: Call<z.infer<Query>, z.infer<Body>>) => Promise<Answer>;
}

/**
 * Hides the types of query and body, so that a table can hold all routes. The dispatcher parses both with the route's
 * own schemas before `handle` sees them.
 */
export function defineRoute<Query extends z.ZodObject, Body extends z.ZodType>(
  definition: RouteDefinition<Query, Body>,
): Route;
export function defineRoute(definition: RouteDefinition<z.ZodObject, z.ZodType>): Route {
  const { method, path, doc, query = null, body = null, answer = null, bodyOptional = false, handle } = definition;
  return { method, path, access: accessOf(definition), doc, query, body, answer, bodyOptional, handle };
}

function accessOf({ access }: Pick<RouteDefinition<z.ZodObject, z.ZodType>, "access">): LimitedAccess | null {
  return typeof access === "string" ? { surface: "v1", action: access } : (access ?? null);
}

/** `{name}` is OpenAPI's spelling, `:name` the router's. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** The session a route is about. */
export function sessionOf({ params }: { readonly params: Readonly<Record<string, string>> }): SessionId {
  return sessionId(params.id ?? "");
}

export const created = (body: unknown): Answer => ({ type: "json", body, status: 201 });
export const json = (body: unknown): Answer => ({ type: "json", body });
export const empty = (headers?: Readonly<Record<string, string>>): Answer =>
  headers === undefined ? { type: "empty" } : { type: "empty", headers };
export const sent: Answer = { type: "sent" };

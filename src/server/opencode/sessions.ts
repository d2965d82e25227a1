/** Sessions: make, list, read, rename, delete, fork; their messages, children, todos and changed files. */
import { randomBytes } from "node:crypto";
import { basename, resolve } from "node:path";
import * as z from "zod";
import { defined } from "../../core/defined.ts";
import { LAST_TIME } from "../../core/time-text.ts";
import type { OpenCodeSession } from "../../dialects/opencode.ts";
import {
  DEFAULT_MODE,
  DEFAULT_MODEL,
  OPENCODE_VERSION,
  openCodeSessionId,
  projectId,
  slugOf,
} from "../../projections/opencode/index.ts";
import { ApiError } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { CreateSession, SessionSummary } from "../../protocol/resources.ts";
import { allSessions } from "../../runtime/session/every-session.ts";
import { checkRules } from "../credentials/limited-sessions.ts";
import { configuredRules, sayingWhere } from "./config-rules.ts";
import { created } from "./events.ts";
import { repositoryOf } from "./git.ts";
import { type Conversation, diffsOf, headOf, headsBefore, messageJson, messagesJson } from "./messages.ts";
import { modeOptions, PLAN_MODE } from "./modes.ts";
import { otherDisk } from "./other-disk.ts";
import { inPieces, json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute, sessionMissing } from "./route.ts";
import { isWithin } from "./served-directory.ts";
import type { SessionView } from "./session-view.ts";

const LIST_LIMIT = 100;

const Rule = z
  .looseObject({
    permission: z.string().min(1).max(100),
    pattern: z.string().min(1).max(500),
    action: z.enum(["allow", "ask", "deny"]),
  })
  .transform(({ permission, pattern, action }) => ({ permission, pattern, action }));
const Rules = z.array(Rule).max(200);
const Create = z.looseObject({
  parentID: z.string().optional(),
  title: z.string().optional(),
  agent: z.string().optional(),
  model: z
    .looseObject({ providerID: z.string(), id: z.string().optional(), modelID: z.string().optional() })
    .optional(),
  permission: Rules.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const SHOWN = "Without `summary`; the rules in `permission` include those of the configuration, except on OpenCode.";

export const sessionRoutes: readonly OpenCodeRoute[] = [
  {
    method: "POST",
    path: "/session",
    action: "create",
    partial: "Permission rules that the agent would not ask about are refused.",
    handle: create,
  },
  { method: "GET", path: "/session", action: "read", handle: list },
  {
    method: "GET",
    path: "/experimental/session",
    action: "read",
    partial: "Without cursors: `limit` and `start` bound it.",
    handle: async (call) => json(await listed({ ...call, query: { scope: "global", ...call.query } })),
  },
  { method: "GET", path: "/session/status", action: "read", handle: statuses },
  {
    method: "GET",
    path: "/session/{sessionID}",
    action: "read",
    partial: SHOWN,
    handle: async (call) => json(await infoOf(call, await viewOf(call))),
  },
  { method: "PATCH", path: "/session/{sessionID}", action: "manage", partial: SHOWN, handle: rename },
  { method: "DELETE", path: "/session/{sessionID}", action: "delete", handle: remove },
  { method: "GET", path: "/session/{sessionID}/children", action: "read", handle: children },
  { method: "GET", path: "/session/{sessionID}/todo", action: "read", handle: todos },
  {
    method: "GET",
    path: "/session/{sessionID}/diff",
    action: "read",
    partial: "The diffs that tools reported; there are no snapshots of the directory.",
    handle: diff,
  },
  { method: "GET", path: "/session/{sessionID}/message", action: "read", handle: messages },
  { method: "GET", path: "/session/{sessionID}/message/{messageID}", action: "read", handle: message },
  {
    method: "POST",
    path: "/session/{sessionID}/fork",
    action: "create",
    partial: "Before a message of it only for the OpenCode agent.",
    handle: fork,
  },
];

/** The session a route names, root or subagent. */
export async function viewOf(call: OpenCodeCall): Promise<SessionView> {
  const id = call.params.sessionID ?? "";
  const view = await call.views.find(id);
  if (view === null) throw sessionMissing(id);
  return view;
}

/** The conversation a route names. */
export const conversationOf = async (call: OpenCodeCall): Promise<Conversation> =>
  conversationIn(call, await viewOf(call), call.params.sessionID);

export const conversationIn = (
  { sessions: { projections } }: OpenCodeCall,
  view: SessionView,
  session = view.openCodeId,
): Conversation => ({ projections, view, session });

/** As OpenCode makes them: the newest sorts first. */
function freshId(): string {
  const stamp = ((1n << 48n) - 1n - ((BigInt(Date.now()) * 0x1000n) & ((1n << 48n) - 1n))).toString(16);
  return `ses_${stamp.padStart(12, "0")}${randomBytes(7).toString("hex")}`;
}

async function create(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await createSession(call, await call.body(Create));
  return json(await infoOf(call, view));
}

export async function createSession(
  call: OpenCodeCall,
  body: z.infer<typeof Create>,
  id: SessionId = sessionId(freshId()),
): Promise<SessionView> {
  if (call.caller.type === "limited") checkRules(body.permission);
  const parent = body.parentID === undefined ? null : await viewOf({ ...call, params: { sessionID: body.parentID } });
  await call.views.ready();
  const options = createOptions(call, body);
  const mode = await modeOptions(call.sessions, body.agent, options.agent);
  const { agent } = options;
  const permissionRules = await configuredRules(call, { agent, directory: call.directory, rules: body.permission });
  // In a folder of another host it belongs to that one.
  const host = await otherDisk(call);
  const placement = host === null ? undefined : `host:${host.id}`;
  const more = defined({ parentId: parent?.id, permissionRules, placement });
  const asked = body.permission !== undefined;
  const made = await sayingWhere(call.sessions.create(id, { ...options, ...mode, ...more }), { asked });
  if (!made.healthy) call.logger.warn("opencode.session_unhealthy", { id, error: made.error });
  const view = await call.views.find(id);
  if (view === null) throw sessionMissing(id);
  return view;
}

function createOptions(call: OpenCodeCall, body: z.infer<typeof Create>): CreateSession {
  const model = body.model?.id ?? body.model?.modelID ?? DEFAULT_MODEL;
  const variant = typeof body.model?.variant === "string" ? body.model.variant : undefined;
  return {
    agent: body.model?.providerID ?? call.agent,
    directory: call.directory,
    ...defined({
      model: model === DEFAULT_MODEL ? undefined : model,
      variant: variant === "default" ? undefined : variant,
      title: body.title === "" ? undefined : body.title,
      metadata: body.metadata,
    }),
  };
}

async function list(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  return json(await listed(call));
}

export async function listed(call: OpenCodeCall): Promise<readonly OpenCodeSession[]> {
  const { roots, start, search, limit } = call.query;
  await call.views.ready();
  const open = new Map(call.views.open().map((view) => [view.id, view]));
  const found = (await sessionsHere(call))
    .filter(({ ended, parentId }) => !ended && (roots !== "true" || parentId === undefined))
    .flatMap((summary) => {
      const view = open.get(sessionId(summary.sessionId));
      if (view === undefined || roots === "true") return [withKept(describe(summary, view), summary)];
      return describeAll(summary, view).map((info) => (info.id === view.openCodeId ? withKept(info, summary) : info));
    })
    .filter(({ time }) => start === undefined || (time?.updated ?? 0) >= Number(start))
    .filter(({ title }) => search === undefined || (title ?? "").toLowerCase().includes(search.toLowerCase()))
    .sort((one, other) => (other.time?.updated ?? 0) - (one.time?.updated ?? 0));
  const most = limit === undefined ? LIST_LIMIT : Math.max(0, Number(limit));
  return found.slice(0, Number.isNaN(most) ? LIST_LIMIT : most);
}

/**
 * The sessions of a directory; with `scope=project` those of its repository, and of its `path` where one is named; from
 * a repository's root also those of its subdirectories.
 */
export async function sessionsHere(call: OpenCodeCall): Promise<readonly SessionSummary[]> {
  const { scope, path } = call.query;
  if (scope === "global" || scope === "all") return allSessions(call.sessions);
  const root = repositoryOf(call.directory);
  if (root === null || (scope !== "project" && root !== call.directory)) {
    return allSessions(call.sessions, { directory: call.directory });
  }
  const from = scope === "project" && path !== undefined && path !== "" ? resolve(root, path) : root;
  return (await allSessions(call.sessions)).filter(
    ({ directory }) => isWithin(directory, from) && repositoryOf(directory) === root,
  );
}

async function statuses(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await call.views.ready();
  return json(Object.fromEntries(call.views.statuses()));
}

/** A session as it was rendered; before its first event, as it was asked for. */
export async function infoOf(
  call: OpenCodeCall,
  view: SessionView,
  id = call.params.sessionID,
): Promise<OpenCodeSession> {
  const known = view.now.store.sessions.get(id ?? view.openCodeId)?.info ?? null;
  const session = await call.sessions.get(view.id, { limit: 0 });
  const isRoot = id === undefined || id === view.openCodeId;
  if (!isRoot && known !== null) return known;
  const rules = session.permissionRules.length > 0 ? { permission: session.permissionRules } : {};
  return { ...withKept(known ?? describe(session, view), session), ...rules };
}

/** With what clients keep with a session, which is not in its log. */
function withKept(info: OpenCodeSession, { metadata, archivedAt, parentId }: SessionSummary): OpenCodeSession {
  const { time } = info;
  const parentID = parentId === undefined ? undefined : openCodeSessionId(parentId);
  const archived = typeof archivedAt === "string" ? Date.parse(archivedAt) : undefined;
  return {
    ...info,
    ...defined({ metadata, parentID }),
    ...(time === undefined || archived === undefined ? {} : { time: { ...time, archived } }),
  };
}

function describe(summary: SessionSummary, view: SessionView | undefined): OpenCodeSession {
  const known = view?.now.store.sessions.get(view.openCodeId)?.info ?? null;
  if (known !== null) return known;
  const { sessionId: own, directory, agent, model, variant, title, createdAt, updatedAt, agentMode } = summary;
  const id = openCodeSessionId(own);
  const created = Date.parse(createdAt) || 0;
  const plan = summary.permissionMode === "plan" ? PLAN_MODE : DEFAULT_MODE;
  return {
    id,
    slug: slugOf(id),
    projectID: projectId(directory),
    directory,
    path: "",
    title: title ?? `New session - ${createdAt === "" ? new Date(created).toISOString() : createdAt}`,
    agent: agentMode ?? plan,
    model: { id: model ?? DEFAULT_MODEL, providerID: agent, ...defined({ variant: variant ?? undefined }) },
    version: OPENCODE_VERSION,
    time: { created, updated: Date.parse(updatedAt) || created },
  };
}

function describeAll(summary: SessionSummary, view: SessionView): OpenCodeSession[] {
  const known = [...view.now.store.sessions.values()].flatMap(({ info }) => info ?? []);
  return known.length === 0 ? [describe(summary, view)] : known;
}

const Patch = z.looseObject({
  title: z.string().nullable().optional(),
  time: z.looseObject({ archived: z.number().max(LAST_TIME).nullable().optional() }).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  permission: Rules.optional(),
});

async function rename(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { title: named, time, permission, metadata } = await call.body(Patch);
  const view = await viewOf(call);
  const title = named ?? undefined;
  // As in OpenCode, rules are added to those there are: the last one that matches counts.
  const { permissionRules: known } = await call.sessions.get(view.id, { limit: 0 });
  const permissionRules = permission === undefined ? undefined : [...known, ...permission];
  const archivedAt = time?.archived === undefined ? undefined : archiveTime(time.archived);
  await call.sessions.update(view.id, defined({ title, permissionRules, metadata, archivedAt }));
  const info = { ...(await infoOf(call, view)), ...defined({ title }) };
  // These are not in the log: clients hear of them here.
  const isQuiet = metadata === undefined && archivedAt === undefined && permission === undefined;
  if (!isQuiet) call.views.announce(created("session.updated", { sessionID: info.id, info }), view.now.state);
  return json(info);
}

const archiveTime = (archived: number | null): string | null =>
  archived === null || archived <= 0 ? null : new Date(archived).toISOString();

async function remove(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  await call.undo.settled(view);
  await call.sessions.delete(view.id);
  return json(true);
}

/** As OpenCode: where there is no session, nothing has changed. */
async function diff(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { sessionID = "" } = call.params;
  const view = await call.views.find(sessionID);
  if (view === null) return json([]);
  return json(await diffsOf(conversationIn(call, view, sessionID), call.query.messageID ?? null));
}

async function children(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  const infos = [...view.now.store.sessions.values()].flatMap(({ info }) => info ?? []);
  const below = infos.filter(({ parentID }) => parentID === call.params.sessionID);
  const made = (await allSessions(call.sessions)).filter(({ parentId }) => parentId === view.id);
  const isRoot = call.params.sessionID === view.openCodeId;
  return json([...below, ...(isRoot ? made.map((one) => withKept(describe(one, undefined), one)) : [])]);
}

async function todos(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const view = await viewOf(call);
  return json(view.now.store.sessions.get(call.params.sessionID ?? "")?.todos ?? []);
}

async function messages(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const limit = limitOf(call.query.limit);
  const conversation = await conversationOf(call);
  const { before = null } = call.query;
  const pieces = messagesJson(conversation, { limit, before });
  if (limit === null || limit === 0) return inPieces(pieces);
  const heads = await headsBefore(conversation, { limit: limit + 1, before });
  const oldest = heads.length > limit ? heads[1]?.id : undefined;
  if (oldest === undefined) return inPieces(pieces);
  const next = new URLSearchParams({ ...call.query, before: oldest });
  const [path = ""] = (call.incoming.url ?? "").split("?");
  return { pieces, headers: { "x-next-cursor": oldest, link: `<${path}?${next}>; rel="next"` } };
}

function limitOf(asked: string | undefined): number | null {
  if (asked === undefined) return null;
  const limit = Number(asked);
  if (asked !== "" && Number.isInteger(limit)) return Math.max(0, limit);
  throw new ApiError("invalid_request", "The query: `limit` is no whole number.");
}

async function message(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { sessionID = "", messageID = "" } = call.params;
  const conversation = await conversationOf(call);
  const head = await headOf(conversation, messageID);
  if (head === null) throw sessionMissing(`${sessionID}, message ${messageID}`);
  return inPieces(messageJson(conversation, head));
}

const Fork = z.looseObject({ messageID: z.string().startsWith("msg").optional() });

async function fork(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { messageID: at } = await call.body(Fork);
  const view = await viewOf(call);
  if (at !== undefined && (await headOf(conversationIn(call, view), at)) === null) {
    throw new ApiError("session_not_found", `Message not found: ${at}. A fork begins before a message of the session.`);
  }
  const into = sessionId(freshId());
  await call.sessions.fork(view.id, into, at === undefined ? {} : { at });
  const { title } = await infoOf(call, view, view.openCodeId);
  await call.sessions.update(into, { title: forkTitle(title ?? "") });
  const forked = await call.views.find(into);
  if (forked === null) throw sessionMissing(into);
  return json(await infoOf(call, forked, forked.openCodeId));
}

/** As OpenCode names forks: the first, and those of forks. */
function forkTitle(title: string): string {
  const [, name, count] = /^(.+) \(fork #(\d+)\)$/.exec(title) ?? [];
  return name === undefined ? `${title} (fork #1)` : `${name} (fork #${Number(count) + 1})`;
}

/** A title for a session that nobody has named, from what was asked first. */
export function titleFrom(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.length <= TITLE_LENGTH ? line : `${line.slice(0, TITLE_LENGTH - 1)}…`;
}

const TITLE_LENGTH = 60;

export const projectName = (directory: string): string => basename(directory) || directory;

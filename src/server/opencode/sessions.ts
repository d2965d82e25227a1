/** Sessions: make, list, read, rename, delete, fork; their messages, children, todos and changed files. */
import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { z } from "zod";
import type { OpenCodeFileDiff, OpenCodeSession } from "../../dialects/opencode.ts";
import {
  DEFAULT_MODE,
  DEFAULT_MODEL,
  OPENCODE_VERSION,
  openCodeSessionId,
  projectId,
  relativePath,
  type StoredMessage,
  slugOf,
} from "../../projections/opencode/index.ts";
import { ApiError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/ids.ts";
import type { CreateSession, SessionSummary } from "../../protocol/resources.ts";
import {
  json,
  notSupported,
  type OpenCodeAnswer,
  type OpenCodeCall,
  type OpenCodeRoute,
  sessionMissing,
} from "./call.ts";
import { PLAN_MODE } from "./catalogue.ts";
import type { Live } from "./live.ts";

const LIST_LIMIT = 100;

const PermissionRule = z.looseObject({ permission: z.string(), pattern: z.string(), action: z.string() });
const Create = z.looseObject({
  parentID: z.string().optional(),
  title: z.string().optional(),
  agent: z.string().optional(),
  model: z
    .looseObject({ providerID: z.string(), id: z.string().optional(), modelID: z.string().optional() })
    .optional(),
  permission: z.array(PermissionRule).optional(),
});

export const sessionRoutes: readonly OpenCodeRoute[] = [
  {
    method: "POST",
    path: "/session",
    partial: "No `parentID`; of permission rules only a denial of `question` is kept.",
    handle: create,
  },
  { method: "GET", path: "/session", handle: list },
  { method: "GET", path: "/session/status", handle: statuses },
  { method: "GET", path: "/session/{sessionID}", handle: async (call) => json(await infoOf(call, await liveOf(call))) },
  {
    method: "PATCH",
    path: "/session/{sessionID}",
    partial: "The title; archiving and permission rules are refused.",
    handle: rename,
  },
  { method: "DELETE", path: "/session/{sessionID}", handle: remove },
  { method: "GET", path: "/session/{sessionID}/children", handle: children },
  { method: "GET", path: "/session/{sessionID}/todo", handle: todos },
  {
    method: "GET",
    path: "/session/{sessionID}/diff",
    partial: "The diffs that tools told; there are no snapshots of the directory.",
    handle: async (call) => json(diffsOf(await liveOf(call), call)),
  },
  { method: "GET", path: "/session/{sessionID}/message", handle: messages },
  { method: "GET", path: "/session/{sessionID}/message/{messageID}", handle: message },
  {
    method: "POST",
    path: "/session/{sessionID}/fork",
    partial: "Before a message of it only for the OpenCode agent; what was said before is not copied.",
    handle: fork,
  },
];

/** The session a route names, root or subagent. */
export async function liveOf(call: OpenCodeCall): Promise<Live> {
  const id = call.params.sessionID ?? "";
  const live = await call.retelling.find(id);
  if (live === null) throw sessionMissing(id);
  return live;
}

/** As OpenCode makes them: the newest sorts first. */
function freshId(): string {
  const stamp = ((1n << 48n) - 1n - ((BigInt(Date.now()) * 0x1000n) & ((1n << 48n) - 1n))).toString(16);
  return `ses_${stamp.padStart(12, "0")}${randomBytes(7).toString("hex")}`;
}

async function create(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const body = await call.body(Create);
  if (body.parentID !== undefined) throw notSupported("A session cannot be made below another: subagents do that.");
  await call.retelling.ready();
  const id = sessionId(freshId());
  const created = await call.sessions.create(id, createOptions(call, body));
  if (!created.healthy) call.logger.warn("opencode.session_unhealthy", { id, error: created.error });
  if (deniesQuestions(body.permission ?? [])) call.turns.refuseQuestions(id);
  const live = await call.retelling.find(id);
  if (live === null) throw sessionMissing(id);
  return json(await infoOf(call, live));
}

function createOptions(call: OpenCodeCall, body: z.infer<typeof Create>): CreateSession {
  const model = body.model?.id ?? body.model?.modelID ?? DEFAULT_MODEL;
  const variant = typeof body.model?.variant === "string" ? body.model.variant : undefined;
  return {
    agent: body.model?.providerID ?? call.agent,
    directory: call.directory,
    ...(model === DEFAULT_MODEL ? {} : { model }),
    ...(variant === undefined || variant === "default" ? {} : { variant }),
    ...(body.title === undefined || body.title === "" ? {} : { title: body.title }),
    ...modeOptions(body.agent),
  };
}

/** OpenCode's agents are our modes; its `plan` is a permission mode, its `build` none at all. */
export function modeOptions(agent: string | undefined): Pick<CreateSession, "agentMode" | "permissionMode"> {
  if (agent === undefined || agent === DEFAULT_MODE) return {};
  return agent === PLAN_MODE ? { permissionMode: "plan" } : { agentMode: agent };
}

const deniesQuestions = (rules: readonly z.infer<typeof PermissionRule>[]): boolean =>
  rules.some(({ permission, action }) => permission === "question" && action === "deny");

async function list(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { roots, start, search, limit, scope } = call.query;
  await call.retelling.ready();
  const known = new Map(call.retelling.lives().map((live) => [live.id, live]));
  const everywhere = scope === "global" || scope === "all";
  const found = (await call.sessions.list())
    .filter(({ directory, ended }) => (everywhere || directory === call.directory) && !ended)
    .flatMap((summary) => {
      const live = known.get(sessionId(summary.sessionId));
      return live === undefined || roots === "true" ? [describe(summary, live)] : describeAll(summary, live);
    })
    .filter(({ time }) => start === undefined || (time?.updated ?? 0) >= Number(start))
    .filter(({ title }) => search === undefined || (title ?? "").toLowerCase().includes(search.toLowerCase()))
    .sort((one, other) => (other.time?.updated ?? 0) - (one.time?.updated ?? 0));
  const most = limit === undefined ? LIST_LIMIT : Math.max(0, Number(limit));
  return json(found.slice(0, Number.isNaN(most) ? LIST_LIMIT : most));
}

async function statuses(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  await call.retelling.ready();
  return json(Object.fromEntries(call.retelling.statuses()));
}

/** A session as it was told; before its first event, as it was asked for. */
export async function infoOf(call: OpenCodeCall, live: Live, id = call.params.sessionID): Promise<OpenCodeSession> {
  const told = live.store.sessions.get(id ?? live.openCodeId)?.info ?? null;
  if (told !== null) return told;
  return describe(await call.sessions.get(live.id, { limit: 0 }), live);
}

function describe(summary: SessionSummary, live: Live | undefined): OpenCodeSession {
  const told = live?.store.sessions.get(live.openCodeId)?.info ?? null;
  if (told !== null) return told;
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
    model: { id: model ?? DEFAULT_MODEL, providerID: agent, ...(variant === null ? {} : { variant }) },
    version: OPENCODE_VERSION,
    time: { created, updated: Date.parse(updatedAt) || created },
  };
}

function describeAll(summary: SessionSummary, live: Live): OpenCodeSession[] {
  const told = [...live.store.sessions.values()].flatMap(({ info }) => info ?? []);
  return told.length === 0 ? [describe(summary, live)] : told;
}

const Patch = z.looseObject({
  title: z.string().optional(),
  time: z.looseObject({ archived: z.number().optional() }).optional(),
  permission: z.unknown().optional(),
});

async function rename(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const { title, time, permission } = await call.body(Patch);
  if (time?.archived !== undefined)
    throw notSupported("A session cannot be archived here; delete it, or end it on /v1.");
  if (permission !== undefined) throw notSupported("Permission rules belong to the agent; change its permission mode.");
  if (title !== undefined) await call.sessions.update(live.id, { title });
  const info = await infoOf(call, live);
  return json(title === undefined ? info : { ...info, title });
}

async function remove(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  await call.sessions.delete(live.id);
  return json(true);
}

async function children(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const infos = [...live.store.sessions.values()].flatMap(({ info }) => info ?? []);
  return json(infos.filter(({ parentID }) => parentID === call.params.sessionID));
}

async function todos(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  return json(live.store.sessions.get(call.params.sessionID ?? "")?.todos ?? []);
}

/** The latest diff that a tool told for each file; files are named from the directory, as OpenCode does. */
function diffsOf(live: Live, { params, query }: OpenCodeCall): OpenCodeFileDiff[] {
  const diffs = new Map<string, OpenCodeFileDiff>();
  const session = live.store.sessions.get(params.sessionID ?? "");
  const directory = session?.info?.directory ?? "";
  for (const { info, parts } of session?.messages.values() ?? []) {
    if (query.messageID !== undefined && info.id !== query.messageID) continue;
    for (const part of parts.values()) {
      if (part.type !== "tool" || part.state.status !== "completed") continue;
      const diff = FileDiff.safeParse(part.state.metadata?.filediff);
      if (!diff.success) continue;
      const file = relativePath({ path: diff.data.file, directory });
      diffs.set(file, { ...diff.data, file, status: "modified" });
    }
  }
  return [...diffs.values()];
}

const FileDiff = z.object({ file: z.string(), patch: z.string(), additions: z.number(), deletions: z.number() });

export const described = ({ info, parts }: StoredMessage) => ({ info, parts: [...parts.values()] });

async function messages(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const all = [...(live.store.sessions.get(call.params.sessionID ?? "")?.messages.values() ?? [])];
  const { limit, before } = call.query;
  const end = before === undefined ? all.length : all.findIndex(({ info }) => info.id === before);
  const upTo = end < 0 ? all : all.slice(0, end);
  const most = Number(limit ?? upTo.length);
  return json(upTo.slice(Math.max(0, upTo.length - (Number.isNaN(most) ? upTo.length : most))).map(described));
}

async function message(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const { sessionID = "", messageID = "" } = call.params;
  const found = live.store.sessions.get(sessionID)?.messages.get(messageID);
  if (found === undefined) throw sessionMissing(`${sessionID}, message ${messageID}`);
  return json(described(found));
}

const Fork = z.looseObject({ messageID: z.string().startsWith("msg").optional() });

async function fork(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const live = await liveOf(call);
  const { messageID: at } = await call.body(Fork);
  if (at !== undefined && live.store.sessions.get(live.openCodeId)?.messages.has(at) !== true) {
    throw new ApiError("session_not_found", `Message not found: ${at}. A fork begins before a message of the session.`);
  }
  const into = sessionId(freshId());
  await call.sessions.fork(live.id, into, at === undefined ? {} : { at });
  const forked = await call.retelling.find(into);
  if (forked === null) throw sessionMissing(into);
  return json(await infoOf(call, forked, forked.openCodeId));
}

/** A title for a session that nobody has named, from what was asked first. */
export function titleFrom(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.length <= TITLE_LENGTH ? line : `${line.slice(0, TITLE_LENGTH - 1)}…`;
}

const TITLE_LENGTH = 60;

export const projectName = (directory: string): string => basename(directory) || directory;

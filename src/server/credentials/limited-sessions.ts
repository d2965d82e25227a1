/**
 * The sessions as the holder of a credential may use them. Sessions of other folders are invisible to it: they are
 * in no list, stream or search, and naming one is 404. Its requests cannot loosen the permissions of its agents.
 * Whether the credential allows an action at all is checked before, by the route (`access.ts`).
 */
import { defined } from "../../core/defined.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { type SessionId, sessionId } from "../../protocol/ids.ts";
import type { CreateSession, PermissionRule, UpdateSession } from "../../protocol/resources.ts";
import type { EventGroup, Follow } from "../../runtime/log/contract.ts";
import type { PromptRequest, SessionPage, SessionQuery, Sessions } from "../../runtime/session/contract.ts";
import { type Credential, holdsFolder, ownerOnly } from "./credential.ts";

export interface LimitOptions {
  readonly credential: Credential;
  /** Where files that came with prompts are kept. */
  readonly attachments: string;
}

interface Limits extends LimitOptions {
  readonly sessions: Sessions;
  /** Throws unless the credential gives access to the session. */
  readonly check: (id: SessionId) => Promise<void>;
  /** Whether the credential gives access to the session. */
  readonly holds: SessionCheck;
}

/** `isNew`: what is remembered of a session with this id is about another one. */
type SessionCheck = (id: SessionId, options?: { readonly isNew: boolean }) => Promise<boolean>;

export function limitSessions(sessions: Sessions, { credential, attachments }: LimitOptions): Sessions {
  const holds = sessionCheck(sessions, credential);
  const check = async (id: SessionId): Promise<void> => {
    if (!(await holds(id))) throw new ApiError("session_not_found", `There is no session ${id}.`);
  };
  const limits: Limits = { sessions, credential, attachments, check, holds };
  return {
    ...sessions,
    ...perSession(limits),
    ...overAll(limits),
    ...changes(limits),
    ...forOwnerOnly,
    trust: {
      isTrusted: (directory) => holdsFolder(credential, directory) && sessions.trust.isTrusted(directory),
      list: () => sessions.trust.list().filter(({ path }) => holdsFolder(credential, path)),
      add: async () => refuse("Trusting a folder"),
      remove: async () => refuse("Changing the trust of a folder"),
    },
  };
}

/** Caches the results for one request, because a stream checks every group of events. */
function sessionCheck(sessions: Sessions, credential: Credential): SessionCheck {
  const known = new Map<SessionId, boolean>();
  return async (id, { isNew } = { isNew: false }) => {
    if (credential.folders === null || credential.sessions.includes(id)) return true;
    if (isNew) known.delete(id);
    const before = known.get(id);
    if (before !== undefined) return before;
    const isHeld = await isFound(
      credential.kind === "delegation"
        ? isStartedBy(sessions, { credential, id })
        : sessions.get(id, { limit: 0 }).then(({ directory }) => holdsFolder(credential, directory)),
    );
    if (isHeld !== null) known.set(id, isHeld);
    return isHeld ?? false;
  };
}

/** Null for a session that does not exist, which may be created later. */
async function isFound(answer: Promise<boolean>): Promise<boolean | null> {
  try {
    return await answer;
  } catch (error) {
    if (hasCode(error, "session_not_found")) return null;
    throw error;
  }
}

/** Whether the session that delegates has started this one. */
async function isStartedBy(
  { delegates }: Sessions,
  { credential, id }: { readonly credential: Credential; readonly id: SessionId },
): Promise<boolean> {
  for (const parent of credential.sessions) await delegates.check(sessionId(parent), id);
  return true;
}

type SessionMethods = Pick<
  Sessions,
  | ("get" | "abort" | "dropQueued" | "replyPermission" | "replyQuestion" | "rejectQuestion" | "compact" | "shell")
  | ("revert" | "stopContinuing" | "notice" | "terminate" | "delete" | "diff" | "events" | "native" | "follow")
  | ("homeOf" | "removeWorktree")
>;

/** Methods that are about one session and change nothing that could loosen a limit. */
function perSession({ sessions, check }: Limits): SessionMethods {
  const checked =
    <Rest extends readonly unknown[], Result>(method: (id: SessionId, ...rest: Rest) => Promise<Result>) =>
    async (id: SessionId, ...rest: Rest): Promise<Result> => {
      await check(id);
      return method(id, ...rest);
    };
  return {
    get: checked(sessions.get),
    abort: checked(sessions.abort),
    dropQueued: checked(sessions.dropQueued),
    replyPermission: checked(sessions.replyPermission),
    replyQuestion: checked(sessions.replyQuestion),
    rejectQuestion: checked(sessions.rejectQuestion),
    compact: checked(sessions.compact),
    shell: checked(sessions.shell),
    revert: checked(sessions.revert),
    stopContinuing: checked(sessions.stopContinuing),
    notice: checked(sessions.notice),
    terminate: checked(sessions.terminate),
    delete: checked(sessions.delete),
    diff: checked(sessions.diff),
    events: checked(sessions.events),
    native: checked(sessions.native),
    homeOf: checked(sessions.homeOf),
    removeWorktree: checked(sessions.removeWorktree),
    async *follow(id: SessionId, follow: Follow): AsyncGenerator<EventGroup> {
      await check(id);
      yield* sessions.follow(id, follow);
    },
  };
}

/** Methods that go over all sessions: only those of the credential are left. */
function overAll({
  sessions,
  credential,
  holds,
}: Limits): Pick<Sessions, "list" | "followAll" | "worktrees" | "usage" | "diskOf"> {
  if (credential.folders === null) {
    const { list, followAll, worktrees, usage, diskOf } = sessions;
    return { list, followAll, worktrees, usage, diskOf };
  }
  return {
    list: (query) => listHeld(sessions, { credential, query: query ?? {} }),
    async *followAll(follow) {
      for await (const group of sessions.followAll(follow)) {
        // A session that was deleted and created again may be in another folder.
        if (await holds(group.session, { isNew: group.first === 1 })) yield group;
      }
    },
    async worktrees() {
      const all = await sessions.worktrees();
      const held = await Promise.all(all.map((one) => holds(sessionId(one.sessionId))));
      return all.filter((_, index) => held[index]);
    },
    usage: async () => refuse("The usage of all sessions"),
    diskOf: async (directory) => (holdsFolder(credential, directory) ? sessions.diskOf(directory) : null),
  };
}

const DEFAULT_LIMIT = 100;

/** Reads pages until there is one full page of sessions that the credential gives access to. */
async function listHeld(
  { list }: Sessions,
  { credential, query }: { readonly credential: Credential; readonly query: SessionQuery },
): Promise<SessionPage> {
  const held: SessionPage["sessions"][number][] = [];
  const { limit = DEFAULT_LIMIT } = query;
  let { cursor } = query;
  for (;;) {
    // No more than are missing, so that the cursor of the last page is where the next page of the caller begins.
    const page = await list({ ...query, ...defined({ cursor }), limit: limit - held.length });
    held.push(
      ...page.sessions.filter(
        (session) => credential.sessions.includes(session.sessionId) || holdsFolder(credential, session.directory),
      ),
    );
    if (page.nextCursor === null || held.length >= limit) return { sessions: held, nextCursor: page.nextCursor };
    cursor = page.nextCursor;
  }
}

/** Methods whose arguments could loosen a limit. */
function changes(
  limits: Limits,
): Pick<Sessions, "create" | "update" | "changeAgent" | "prompt" | "fork" | "sideRequest"> {
  const { sessions, credential, check } = limits;
  return {
    async create(id, options) {
      const directory = options.directory ?? credential.folders?.[0];
      if (directory !== undefined) checkFolder(credential, directory);
      checkSettings(credential, options);
      // The OpenCode surface adds the rules of the configuration, and checks those of its client itself.
      if (credential.surface !== "opencode") checkRules(options.permissionRules);
      checkMode(credential, { wanted: options.permissionMode, now: "default" });
      if (options.parentId !== undefined) await check(sessionId(options.parentId));
      return sessions.create(id, { ...options, ...defined({ directory }) });
    },
    async update(id, change, options) {
      await check(id);
      const now = await sessions.get(id, { limit: 0 });
      checkSettings(credential, change);
      if (change.permissionRules !== undefined) checkRules(change.permissionRules, { known: now.permissionRules });
      checkMode(credential, { wanted: change.permissionMode, now: now.permissionMode });
      return sessions.update(id, change, options);
    },
    async changeAgent(id, choice) {
      await check(id);
      checkMode(credential, { wanted: choice.permissionMode, now: "default" });
      return sessions.changeAgent(id, choice);
    },
    async prompt(id, request) {
      await check(id);
      await checkPrompt(limits, { id, request });
      return sessions.prompt(id, request);
    },
    async fork(id, into, options) {
      await check(id);
      checkFolder(credential, (await sessions.get(id, { limit: 0 })).directory);
      return sessions.fork(id, into, options);
    },
    async sideRequest(id, request) {
      await check(id);
      if (request.word === "note") await checkPrompt(limits, { id, request: request.request });
      return sessions.sideRequest(id, request);
    },
  };
}

const refuse = (what: string): never => {
  throw ownerOnly(what);
};

/** Methods about the whole daemon. Routes to them need the owner already; this is the second check. */
const forOwnerOnly = {
  discover: async () => refuse("Looking for conversations"),
  adopt: async () => refuse("Adopting a conversation"),
  missingKeys: async () => refuse("Looking at provider keys"),
  giveKeys: async () => refuse("Sending provider keys"),
  move: async () => refuse("Moving a session"),
  drain: async () => refuse("Draining a host"),
  hosts: async () => refuse("Listing hosts"),
  install: async () => refuse("Installing an agent"),
  uninstall: async () => refuse("Uninstalling an agent"),
  prune: async () => refuse("Deleting sessions by age"),
} satisfies Partial<Sessions>;

function checkFolder(credential: Credential, directory: string): void {
  if (holdsFolder(credential, directory)) return;
  throw ownerOnly(`The folder ${directory}`);
}

/** Settings of sessions that cannot loosen what an agent may do. Any other needs the owner. */
const HARMLESS: ReadonlySet<string> = new Set<keyof CreateSession>([
  ...(["agent", "model", "variant", "agentMode", "permissionMode", "permissionRules", "directory", "title"] as const),
  ...(["metadata", "parentId", "archivedAt", "systemPrompt", "watchdogMs", "placement"] as const),
]);

/** Settings that spend more or write outside the folder: for credentials that may also raise the permission mode. */
const COSTLY: ReadonlySet<string> = new Set<keyof CreateSession>(["budget", "finishTodos", "worktree"]);

function checkSettings({ actions }: Credential, settings: CreateSession | UpdateSession): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || HARMLESS.has(name)) continue;
    if (!COSTLY.has(name) || !actions.includes("raise")) throw ownerOnly(`The setting \`${name}\``);
  }
}

interface KnownRules {
  /** The rules that the session has. */
  readonly known: readonly PermissionRule[];
}

/** Throws unless the rules only add denials: the last rule that matches counts, so any other could loosen one. */
export function checkRules(rules: readonly PermissionRule[] = [], { known }: KnownRules = { known: [] }): void {
  const isKept = known.every((rule, index) => isSameRule(rule, rules[index]));
  if (isKept && rules.slice(known.length).every(({ action }) => action === "deny")) return;
  throw ownerOnly("A permission rule other than an additional `deny`");
}

export const isSameRule = (one: PermissionRule, other: PermissionRule | undefined): boolean =>
  one.permission === other?.permission && one.pattern === other.pattern && one.action === other.action;

/** From the strictest to the loosest. */
const RANKS = ["plan", "default", "acceptEdits", "bypass"];

interface ModeChange {
  readonly wanted: string | undefined;
  /** The permission mode that the session has. */
  readonly now: string;
}

/** `plan` and `default` may be chosen by everyone; a looser mode only where the session has it already. */
function checkMode({ actions }: Credential, { wanted, now }: ModeChange): void {
  if (wanted === undefined || actions.includes("raise")) return;
  const loosest = Math.max(RANKS.indexOf("default"), RANKS.indexOf(now));
  if (RANKS.indexOf(wanted) > loosest) throw ownerOnly(`The permission mode ${wanted}`);
}

/** Files outside the session's folder, larger budgets and tools that are turned on need the owner. */
async function checkPrompt(
  { sessions, credential, attachments }: Limits,
  { id, request }: { readonly id: SessionId; readonly request: PromptRequest },
): Promise<void> {
  if (request.budget !== undefined && !credential.actions.includes("raise")) throw ownerOnly("The setting `budget`");
  if (Object.values(request.extras?.tools ?? {}).includes(true)) throw ownerOnly("Turning a tool on");
  if (credential.folders === null) return;
  const files = request.attachments ?? [];
  if (files.length === 0) return;
  const { directory } = await sessions.get(id, { limit: 0 });
  const folders = [...credential.folders, directory, attachments];
  for (const { path } of files) {
    if (!holdsFolder({ folders }, path)) throw ownerOnly(`The file ${path}`);
  }
}

/** What each field of the API's bodies means. */
import type * as z from "zod";
import type { EventPage } from "../events.ts";
import type * as resources from "../resources.ts";
import type { Fields } from "./fields.ts";

type FieldsOf<Schema extends z.ZodType> = Fields<z.infer<Schema>>;

const created: Fields<resources.CreatedSession> = {
  healthy: "Whether the agent can be started.",
  error: "Why it cannot, when it cannot.",
  nativeSessionId: "The agent's own id of the session, where it is known already.",
  worktree: "The worktree that was made for it.",
};

const changeable: Fields<resources.UpdateSession> = {
  title: "The session's title.",
  model: "The model; see `GET /v1/agents/{agent}/models`.",
  variant: "A variant of the model, such as its reasoning effort.",
  agentMode: "A mode of the agent; see `GET /v1/agents/{agent}/modes`.",
  permissionMode:
    "When the agent must ask: as it does by itself, never because it only plans, not for edits, or never.",
  permissionRules: "Answers to permission requests, given before anybody is asked. The last rule that matches counts.",
  metadata: "Anything that a client wants to keep with the session; at most 64 KiB as JSON.",
  archivedAt: "When a person archived the session; null brings it back.",
  budget:
    "What each prompt, and the session as a whole, may use: `costUsd`, `tokens`, `steps`, `timeMs`, `toolCalls`. At the limit the turn is stopped with reason `budget`.",
};

const create: Fields<resources.CreateSession> = {
  ...changeable,
  agent: "The agent's name, for example `claude`. Default: the daemon's default agent.",
  directory: "The agent's working directory. Default: the daemon's own.",
  env: "Environment variables for the agent.",
  mcp: "MCP servers by name: `{command, args?, env?}` or `{url, headers?}`.",
  systemPrompt: "Instructions that are added to the agent's system prompt.",
  watchdogMs: "How long an agent with nothing open may be silent before its turn is ended.",
  unattended: "What happens to permission requests and questions that nobody answers.",
  parentId: "The session that this one belongs to.",
  finishTodos: "Whether turns are continued while todos are open, and within which bounds.",
  delegate: "Whether its agent may ask other agents through the MCP server `franca`: `true`, or `{depth?, children?}`.",
  nativeSessionId: "Continue a session that was begun outside Franca.",
  worktree: "Work in a git worktree made for this session: `true`, or the name of its branch.",
  placement:
    "Which of several hosts may run it: `any`, `host:<id>` or `label:<label>`. Default: the host that was asked. When none fits, the session is created and waits.",
};

const summary: Fields<resources.SessionSummary> = {
  sessionId: "The session's id.",
  agent: "The agent's name.",
  agentMode: "The agent's mode; null for its default.",
  permissionMode: "The permission mode.",
  model: "The model; null for the agent's own choice.",
  variant: "The model's variant; null for the default.",
  nativeSessionId: "The agent's own id of the session; null until it is known.",
  status: "What the session is doing.",
  retry: "While the status is `retrying`: which attempt, why, and when the next one is made.",
  ended: "Whether it was terminated; it takes no more prompts.",
  eventCount: "How many events it has.",
  lastSequence: "The sequence of its last event. Follow the events after it to stay up to date.",
  createdAt: "When it was created.",
  updatedAt: "When its last event happened.",
  directory: "The agent's working directory.",
  title: "Its title; null when it has none.",
  metadata: "What a client keeps with the session.",
  parentId: "The session that this one belongs to.",
  archivedAt: "When a person archived it; null or absent when it is not archived.",
  worktree: "The git worktree that was made for it.",
  usage: "Tokens and cost of the session.",
  lastEnd: "How its last turn ended; absent before that.",
  opencodeId: "The session's id on the OpenCode surface.",
  damaged: "Why the session can only be read and deleted; absent unless its stored settings are damaged.",
};

const lastEnd: Fields<NonNullable<resources.SessionSummary["lastEnd"]>> = {
  reason: "How the turn ended.",
  message: "What went wrong, in words.",
};

export const resourceTypes = {
  CreateSession: create,
  CreateAnySession: create,
  UpdateSession: changeable,
  CreatedSession: created,
  NewSession: {
    ...created,
    sessionId: "The new session's id.",
    agent: "The session's agent.",
  } satisfies Fields<resources.NewSession>,
  Unattended: {
    policy: "`park` waits for the deadline and then rejects, `deny` rejects at once, `allow` accepts permissions.",
    allow: "With `allow`: only these actions.",
    deadlineMs: "How long a request waits. Default: one hour.",
  } satisfies Fields<resources.Unattended>,
  PermissionRule: {
    permission: "What is asked about: `bash`, `edit`, `question`, or `*` for anything.",
    pattern: "Of the command, the path or the address: `*` is any text, `?` one character.",
    action: "The answer.",
  } satisfies Fields<resources.PermissionRule>,
  SendMessage: {
    message: "The prompt.",
    attachments:
      "Files on the daemon's machine (`{path, mime?, filename?}`), or their content (`{data, mime, filename?}`, Base64).",
    delivery: "While a turn runs: `queue` waits for its end, `steer` goes into it where the agent can.",
    budget: "What its turn may use; what is not named is as the session has it.",
  } satisfies Fields<resources.SendMessage>,
  AbortSession: {
    clearQueue: "Also removes the prompts that wait.",
    promptId: "Aborts only this prompt, whether it waits or runs.",
  } satisfies FieldsOf<typeof resources.AbortSession>,
  ReplyPermission: {
    reply: "`once`, `always` (exactly this action, for the rest of the session) or `reject`.",
    scope: "With `always`: one of the request's `scopes`, which is allowed instead of the exact action.",
    message: "With `reject`: why, for the agent.",
  } satisfies FieldsOf<typeof resources.ReplyPermission>,
  ReplyQuestion: {
    answers: "One list for each question, in order: labels of options, or own words.",
  } satisfies FieldsOf<typeof resources.ReplyQuestion>,
  RejectQuestion: { message: "Why, for the agent." } satisfies FieldsOf<typeof resources.RejectQuestion>,
  ForkSession: { sessionId: "The id of the new session. Default: a new id." } satisfies FieldsOf<
    typeof resources.ForkSession
  >,
  ForkedSession: { sessionId: "The new session's id." } satisfies FieldsOf<typeof resources.ForkedSession>,
  InstallAgent: {
    version: "Another version than the one that Franca was tested with.",
    reinstall: "Installs it even if it is installed.",
  } satisfies FieldsOf<typeof resources.InstallAgent>,
  SessionSummary: summary,
  "SessionSummary.lastEnd": lastEnd,
  "SessionDetail.lastEnd": lastEnd,
  UsageRow: {
    key: "The day (`2026-11-17`), or the name of the agent, the model or the folder.",
    turns: "How many turns there were.",
    steps: "How many model calls.",
    toolCalls: "How many tool calls.",
    timeMs: "How long the turns took, in milliseconds.",
    usage: "Tokens and cost of these turns, as the agents reported them.",
    estimatedUsd: "Cost by the price table, of tokens that the agents gave no price for; null where there is none.",
    unknownPrices: "Models without a price: their tokens are in no cost.",
  } satisfies Fields<resources.UsageRow>,
  UsageList: { rows: "One for each day, agent, model or folder." } satisfies Fields<resources.UsageList>,
  SessionDetail: {
    ...summary,
    turnId: "The running turn; null when the session is idle.",
    trusted: "Whether the settings, hooks, plugins and MCP servers of its directory may be used.",
    hideData: "Whether Franca's data folder is hidden from the agent and its commands, and if not, why.",
    pendingPermissions: "Permission requests that wait for an answer.",
    pendingQuestions: "Questions that wait for an answer.",
    queue: "Prompts that wait, in order.",
    todos: "The agent's list of todos.",
    usage: "Tokens and cost of the session.",
    revert: "Where the conversation is reverted to until the next prompt; null when it is not.",
    share: "Where others can read it; null when they cannot.",
    permissionRules: "Answers to permission requests that were given beforehand.",
    capabilities: "What its agent can do: as known of the agent, and as the agent has reported in this session.",
    placement:
      "Where it runs, when several hosts share the log: what was wanted, its host, and why it waits (null when it does not).",
    commands: "Slash commands that the agent has named.",
    items: "The last items, oldest first.",
  } satisfies Fields<resources.SessionDetail>,
  SessionList: {
    nextCursor: "`cursor` of the next page; null on the last page.",
    sessions: "The sessions of this page, newest first.",
  } satisfies Fields<resources.SessionList>,
  SessionKeys: {
    keys: "Values of environment variables, by name.",
  } satisfies FieldsOf<typeof resources.SessionKeys>,
  MissingKeys: {
    missing: "Names of environment variables that the agent reads and nobody has set.",
    credentialsAvailable: "Whether the agent can log in, by one of its keys or by a login of its own.",
  } satisfies Fields<resources.MissingKeys>,
  TrustedFolder: {
    path: "The folder's real path.",
    from: "Whether a person trusted it, or the config file.",
  } satisfies FieldsOf<typeof resources.TrustedFolder>,
  TrustList: {
    folders: "All trusted folders.",
    trusted: "With `directory`: whether that one is trusted.",
  } satisfies Fields<resources.TrustList>,
  TrustRequest: {
    directory: "The folder.",
    force: "Needed for the root, the home folder and folders for temporary files.",
  } satisfies FieldsOf<typeof resources.TrustRequest>,
  TrustResult: { path: "The folder's real path." } satisfies FieldsOf<typeof resources.TrustResult>,
  AgentSummary: {
    id: "The agent's name in the API.",
    name: "Its name for people.",
    installed: "Whether its program was found.",
    version: "The version of its program.",
    path: "Where its program is.",
    folderTrust: "Whether it is restricted in folders that are not trusted.",
    hideData: "Whether Franca's data folder is hidden from its processes, and if not, why.",
    credentialsAvailable: "Whether it seems to be logged in.",
    isDefault: "Sessions that name no agent get this one. Absent everywhere when there are several candidates.",
    capabilities: "What it can do.",
  } satisfies Fields<resources.AgentSummary>,
  AgentList: { agents: "All agents, installed or not." } satisfies FieldsOf<typeof resources.AgentList>,
  ModelSummary: {
    id: "The model's id, for `model` of a session.",
    name: "Its name for people.",
    variants: "Its variants, for `variant` of a session.",
    defaultVariant: "The variant it has by default.",
    limit: "Its limits in tokens, as far as the agent reports them.",
    cost: "US dollars per million tokens, as far as the agent reports them.",
  } satisfies Fields<resources.ModelSummary>,
  "ModelSummary.limit": {
    context: "The size of the context window.",
    output: "The longest output.",
  } satisfies Fields<NonNullable<resources.ModelSummary["limit"]>>,
  "ModelSummary.cost": {
    input: "Input tokens.",
    output: "Output tokens.",
    cacheRead: "Input tokens read from a cache.",
    cacheWrite: "Input tokens written to a cache.",
  } satisfies Fields<NonNullable<resources.ModelSummary["cost"]>>,
  ModelList: {
    models: "The models the agent offers.",
    defaultModel: "The model it takes by itself.",
  } satisfies Fields<resources.ModelList>,
  ModeSummary: {
    id: "The mode's id, for `agentMode` of a session.",
    name: "Its name for people.",
    description: "What it does.",
  } satisfies Fields<resources.ModeSummary>,
  ModeList: { modes: "The modes the agent offers." } satisfies FieldsOf<typeof resources.ModeList>,
  NativeLine: {
    line: "Its number in the session, from 1.",
    time: "When it was read or written.",
    from: "Who wrote it: the agent, Franca (`host`), or the operating system (`process`), which reports how the agent ended.",
    native: "The line as it was.",
  } satisfies Fields<resources.NativeLine>,
  NativePage: {
    lines: "The lines, oldest first.",
    hasMore: "Whether more follow.",
  } satisfies Fields<resources.NativePage>,
  EventPage: {
    events: "The events, oldest first.",
    hasMore: "Whether more follow.",
  } satisfies Fields<EventPage>,
  Health: {
    status: "`ok`, or `degraded` while a background task fails and is tried again.",
    version: "The daemon's version.",
    failingTasks: "With `degraded`: the name of each task that fails, and the code of its last error.",
    storage: "`failing`: nothing can be stored at the moment.",
    storageMessage: "With `failing`: what to do. With `ok`: that stored data was damaged, and where it is named.",
    port: "With `nonce`: the port that the daemon listens on.",
    proof:
      "With `nonce`: HMAC-SHA256 under the token, in hex, over the lines `franca health`, nonce and port; null without a token.",
    loginProof:
      "With `login`: the same under the SHA-256 of the page's credential, in base64url; null when it is not valid.",
  } satisfies Fields<resources.Health>,
  LoginRequest: { code: "A one-time code." } satisfies FieldsOf<typeof resources.LoginRequest>,
  LoginCode: { code: "It works once.", expiresAt: "Until when." } satisfies Fields<resources.LoginCode>,
  LoginCredential: {
    credential: "Send it as `Authorization: Bearer …`.",
    expiresAt: "Until when it is valid.",
  } satisfies Fields<resources.LoginCredential>,
  Problem: {
    type: "`urn:franca:error:<code>`.",
    title: "The kind of error, in words.",
    status: "The HTTP status.",
    detail: "What happened, to what, and what to do.",
    code: "The stable code of the error.",
  } satisfies Fields<resources.Problem>,
};

/** How a command reaches sessions: through a daemon where there is one, else by opening the data folder itself. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { ACP_AGENT, COMMAND_VARIABLE, commandProblem } from "../core/acp-command.ts";
import { BASE_URL_VARIABLE } from "../core/base-url.ts";
import { defined } from "../core/defined.ts";
import type { Adoption, AdoptRequest, DiscoverQuery, Discovery } from "../protocol/adoption.ts";
import type { BudgetLimits } from "../protocol/budget.ts";
import type { Attachment, PermissionAnswer } from "../protocol/commands.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type {
  AgentSummary,
  CreatedSession,
  CreateSession,
  EventPage,
  ModelList,
  NativePage,
  SessionDetail,
  SessionFilter,
  SessionSummary,
  TrustList,
  UpdateSession,
  UsageRow,
} from "../protocol/resources.ts";
import type { RemovedWorktree, SessionDiff, SessionWorktree } from "../protocol/workspaces.ts";
import type { UsageQuery } from "../runtime/usage.ts";
import { DEFAULT_PORT, type LoadedSettings, loadSettings } from "./config.ts";
import { CommandError, UsageError } from "./usage.ts";

/** What commands ask of sessions, wherever those are. */
export interface Door {
  /** The daemon's address; null when the data folder is open here. */
  readonly url: string | null;
  readonly create: (id: string, options: CreateSession) => Promise<CreatedSession>;
  /** All that fit, the newest first. */
  readonly list: (filter?: SessionFilter) => Promise<readonly SessionSummary[]>;
  readonly get: (id: string) => Promise<SessionDetail>;
  readonly discover: (query: DiscoverQuery) => Promise<Discovery>;
  readonly adopt: (request: AdoptRequest) => Promise<Adoption>;
  /** `sequence` is the last one before the prompt. */
  readonly prompt: (
    id: string,
    text: string,
    options?: { readonly attachments?: readonly Attachment[]; readonly budget?: BudgetLimits },
  ) => Promise<{ readonly promptId: string; readonly sequence: number }>;
  readonly update: (id: string, change: UpdateSession) => Promise<void>;
  /** Gives the id of the new session. */
  readonly fork: (id: string) => Promise<string>;
  readonly diff: (id: string) => Promise<SessionDiff>;
  readonly worktrees: () => Promise<readonly SessionWorktree[]>;
  readonly removeWorktree: (id: string, options: { readonly force: boolean }) => Promise<RemovedWorktree>;
  /** Variables of new sessions that come from flags. */
  readonly sessionEnv: Readonly<Record<string, string>>;
  /** Sends a daemon the provider keys of this shell that it lacks, for this session alone. */
  readonly giveKeys: (id: string, agent: string) => Promise<void>;
  /** With a prompt's id only that prompt, whether it waits or runs. */
  readonly abort: (id: string, promptId?: string) => Promise<void>;
  readonly replyPermission: (id: string, permission: string, answer: PermissionAnswer) => Promise<void>;
  readonly replyQuestion: (id: string, question: string, answers: readonly (readonly string[])[]) => Promise<void>;
  readonly rejectQuestion: (id: string, question: string) => Promise<void>;
  readonly stopContinuing: (id: string) => Promise<void>;
  readonly delete: (id: string) => Promise<void>;
  readonly prune: (options: { readonly olderThanMs: number }) => Promise<readonly string[]>;
  readonly events: (id: string, page: EventQuery) => Promise<EventPage>;
  readonly native: (id: string, page: { readonly offset: number; readonly limit: number }) => Promise<NativePage>;
  readonly follow: (id: string, follow: FollowQuery) => AsyncIterable<UniversalEvent>;
  /** With a directory, also whether that one is trusted. */
  readonly trust: (directory?: string) => Promise<TrustList>;
  readonly addTrust: (directory: string, options: { readonly force: boolean }) => Promise<string>;
  readonly removeTrust: (directory: string) => Promise<void>;
  readonly usage: (query: UsageQuery) => Promise<readonly UsageRow[]>;
  readonly agents: () => Promise<readonly AgentSummary[]>;
  /** The agent of sessions that name none; null when several could be meant, or none can run. */
  readonly defaultAgent: () => Promise<string | null>;
  readonly models: (agent: string) => Promise<ModelList>;
  readonly uninstall: (agent: string) => Promise<void>;
  readonly install: (agent: string, options: { version?: string; reinstall?: boolean }) => Promise<void>;
  /** A one-time code for a page; null where there is no daemon to open a page of. */
  readonly makeLoginCode: (() => Promise<string>) | null;
  readonly close: () => Promise<void>;
}

export interface EventQuery {
  readonly offset: number;
  readonly limit: number;
  readonly includeRaw: boolean;
}

export interface FollowQuery {
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Options of every command that works on sessions. */
export function addDoorOptions(command: Command): Command {
  return command
    .option("--server <url>", "use the daemon at this address (FRANCA_URL)")
    .addOption(new Option("--attach <url>").hideHelp())
    .addOption(new Option("--token <token>").hideHelp())
    .option("--token-file <file>", "a file with the daemon's token (FRANCA_TOKEN_FILE, else the data folder's)")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)");
}

export interface OpenDoorOptions {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: NodeJS.ProcessEnv;
  /** How agents are stopped when this process owns them. */
  readonly stop?: StopLadder;
}

/** Milliseconds after an abort. */
export interface StopLadder {
  readonly terminateMs: number;
  readonly killMs: number;
}

type Remote = Pick<LoadedSettings, "token" | "data"> & { readonly url: string };

export async function openDoor({ flags, env, stop }: OpenDoorOptions): Promise<Door> {
  const settings = await loadSettings({ flags, env });
  const sessionEnv = sessionEnvOf(flags);
  const url = await addressOf(settings, { flags, env });
  if (url !== null) return { ...(await openRemote({ ...settings, url })), sessionEnv };
  refuseInsideSession(env);
  return { ...(await openEmbedded({ settings, stop: stop ?? null })), sessionEnv };
}

/** Where the daemon is: as named, else as the data folder's lock says; null when none runs. */
export async function daemonAddress({ flags, env }: OpenDoorOptions): Promise<string | null> {
  return addressOf(await loadSettings({ flags, env }), { flags, env });
}

async function addressOf({ store, data }: LoadedSettings, { flags, env }: OpenDoorOptions): Promise<string | null> {
  const url = namedServer(flags) ?? env.FRANCA_URL;
  if (url !== undefined && url !== "") return url;
  const { daemonOf } = await import("../runtime/daemon/lock.ts");
  const daemon = store === "memory" ? null : await daemonOf(data);
  return daemon?.url ?? null;
}

/** `--server`, or `--attach` as it was called before. */
export function namedServer({ server, attach }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof server === "string") return server;
  return typeof attach === "string" ? attach : undefined;
}

/** `--base-url` and `--command` belong to the session, wherever it runs: the agent reads them from there. */
const sessionEnvOf = ({ baseUrl, command }: Readonly<Record<string, unknown>>): Record<string, string> => ({
  ...(typeof baseUrl === "string" ? { [BASE_URL_VARIABLE]: baseUrl } : {}),
  ...(typeof command === "string" ? { [COMMAND_VARIABLE]: command } : {}),
});

/** `--command`, for the agent `acp`. */
export const commandOption = (): Option =>
  new Option("--command <line>", "the ACP agent to start, as you would type it; chooses agent acp").argParser(
    (line: string) => {
      const problem = commandProblem(line);
      if (problem !== null) throw new InvalidArgumentError(`${problem}.`);
      return line;
    },
  );

/** The agent that was named: `--command` names `acp`. */
export function namedAgent({ agent, command }: { agent?: string; command?: string }): string | undefined {
  if (command === undefined) return agent;
  if (agent === undefined || agent === ACP_AGENT) return ACP_AGENT;
  throw new UsageError(`--command starts an agent of your own over ACP; it does not go with --agent ${agent}.`);
}

/** The data folder is its user's, like the token in it: an agent that calls us was given neither. */
export function refuseInsideSession({ FRANCA_SESSION_ID: session = "" }: NodeJS.ProcessEnv): void {
  if (session === "") return;
  throw new CommandError(
    `This command was started inside the agent session ${session}, which has no access to its user's sessions.`,
  );
}

async function openRemote({ url, token, data }: Remote): Promise<Door> {
  if (!URL.canParse(url) || !["http:", "https:"].includes(new URL(url).protocol)) {
    throw new UsageError(`"${url}" is no address of a daemon; write it like http://127.0.0.1:${DEFAULT_PORT}.`);
  }
  const { remoteDoor } = await import("./door-remote.ts");
  return remoteDoor({ url, data, ...defined({ token: token ?? undefined }) });
}

async function openEmbedded({ settings, stop }: { settings: LoadedSettings; stop: StopLadder | null }): Promise<Door> {
  const { openRuntime } = await import("../server/compose.ts");
  const { embeddedDoor } = await import("./door-embedded.ts");
  return embeddedDoor(await openRuntime({ ...settings, role: "embedded", stop }));
}

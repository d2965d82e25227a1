/** What a config file, a flag or a variable may say, as schemas, and the errors that name the key. */
import * as z from "zod";
import { BuiltinConfig } from "../builtin/config.ts";
import { commandProblem } from "../core/acp-command.ts";
import { BudgetConfig } from "../protocol/budget.ts";
import { FinishTodos } from "../protocol/requests.ts";
import { WebhookTable } from "../protocol/webhooks.ts";
import { ALLOW_FORM, readAllowEntry } from "../runtime/outbound/address.ts";
import { TelemetryConfig } from "../server/telemetry/settings.ts";
import { UsageError } from "./usage.ts";

const MAX_WATCHDOG_MS = 7 * 86_400_000;

const PORT = "a port is a whole number from 0 to 65535";
const WATCHDOG = "it is a whole number of milliseconds, from 100 to a week";

const LABEL = "a label has 1 to 128 characters";
const SESSIONS = "a limit of sessions is a whole number from 1 to 1000000";
const LEASE = "it is a whole number of milliseconds, from 1000 to 600000";
const DATABASE_URL = "a database URL is written like postgres://user:password@host:5432/name";
const HOST_URL = "it is the address of this daemon, without a password, like https://one.internal:7717";

const hasProtocol = (text: string, protocol: RegExp): boolean =>
  URL.canParse(text) && protocol.test(new URL(text).protocol);
const isDatabaseUrl = (text: string): boolean => hasProtocol(text, /^postgres(ql)?:$/);
/** Every host reads it, and errors show it: it is no place for a password. */
const isHostUrl = (text: string): boolean => hasProtocol(text, /^https?:$/) && !/[?#@]/.test(text);

const DAYS = "it is a whole number of days, from 1";
const SIZE = "a size is written like 500MB or 2GB";
const STOP_WAIT = "it is a whole number of milliseconds, up to an hour";

const UNITS: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

function bytesOf(text: string, context: z.RefinementCtx<string>): number {
  const [, number = "", unit = ""] = /^(\d+)\s*([kmgt]b)$/i.exec(text.trim()) ?? [];
  const bytes = Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  context.issues.push({ code: "custom", message: SIZE, input: text });
  return z.NEVER;
}

/** As browsers send it: anything else would never match, and nobody would know why. */
const isOrigin = (text: string): boolean =>
  text === "*" || (text !== "null" && URL.canParse(text) && new URL(text).origin === text);
const Origin = z.string().refine(isOrigin, "an origin is written like https://example.com, with no path");
const AllowEntry = z.string().refine((text) => readAllowEntry(text) !== null, ALLOW_FORM);
const VariableName = z.string().regex(/^[^\s=]+$/, "it takes the names of variables, not their values");

/** Never relative: the session's folder would then choose what runs. */
const AcpCommand = z.string().check((context) => {
  const problem = commandProblem(context.value);
  if (problem !== null) context.issues.push({ code: "custom", message: problem, input: context.value });
});

/** What a config file may say. Each key is a flag in camelCase and a `FRANCA_` variable in capitals. */
export const Settings = z.strictObject({
  host: z.string().min(1),
  port: z.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT),
  /** `false`: none, loopback only. */
  token: z.union([z.string().min(1), z.literal(false)]),
  /** A file that holds the token. */
  tokenFile: z.string().min(1),
  data: z.string().min(1),
  store: z.enum(["sqlite", "memory", "postgres"]),
  /** With its password, which therefore never stands in a flag. */
  databaseUrl: z.string().refine(isDatabaseUrl, DATABASE_URL),
  /** A file that holds the database URL. */
  databaseUrlFile: z.string().min(1),
  /** Where other hosts of the database reach this one. */
  hostUrl: z.string().refine(isHostUrl, HOST_URL),
  /** Whether this host may run the sessions of hosts that are gone. */
  takeOver: z.boolean(),
  /** What sessions may ask for in their placement. */
  label: z.array(z.string().min(1, LABEL).max(128, LABEL)),
  /** So many sessions may be open on this host before no more are placed on it. */
  maxSessions: z.number(SESSIONS).int(SESSIONS).min(1, SESSIONS).max(1_000_000, SESSIONS),
  /** Whether a stopped host finishes its turns first and takes nothing new meanwhile. */
  drain: z.boolean(),
  leaseMs: z.number(LEASE).int(LEASE).min(1_000, LEASE).max(600_000, LEASE),
  durability: z.enum(["normal", "full"]),
  corsAllowOrigin: z.array(Origin),
  defaultAgent: z.string().min(1),
  watchdogMs: z.number(WATCHDOG).int(WATCHDOG).min(100, WATCHDOG).max(MAX_WATCHDOG_MS, WATCHDOG),
  passEnv: z.array(VariableName),
  /** Absolute paths of folders whose settings, hooks, plugins and MCP servers agents may use. */
  trustedFolders: z.array(z.string().startsWith("/", "a trusted folder is an absolute path")),
  /** Whether agents are kept from the data folder: where that is possible, always or not at all. */
  hideData: z.enum(["auto", "require", "off"]),
  /** Idle sessions without a change for so many days are deleted. */
  keepDays: z.number(DAYS).int(DAYS).min(1, DAYS).max(36_500, DAYS),
  /** Beyond so much, idle sessions are deleted, the oldest first: bytes, or a text like 2GB. */
  maxDisk: z.union([z.number(SIZE).int(SIZE).min(1, SIZE), z.string().transform(bytesOf)], SIZE),
  /** How long running turns may go on when the daemon is stopped. */
  stopWaitMs: z.number(STOP_WAIT).int(STOP_WAIT).min(0, STOP_WAIT).max(3_600_000, STOP_WAIT),
  logLevel: z.enum(["silent", "error", "warn", "info", "debug"]),
  /** The OpenCode surface also at the root. */
  opencodeRoot: z.boolean(),
  opencodeMessages: z.enum(["turn", "step"]),
  opencodeDeltas: z.enum(["today", "legacy"]),
  /** What sessions do about open todos that say nothing of it themselves. */
  finishTodos: FinishTodos,
  /** What prompts and sessions may use by default, and all sessions in a day. */
  budgets: BudgetConfig,
  builtin: BuiltinConfig,
  /** The command line of agent `acp`, for sessions that name none. */
  acpCommand: AcpCommand,
  /** URLs that are called when something happens, by name. */
  webhooks: WebhookTable,
  /** Private addresses that webhooks may be sent to. */
  webhookAllow: z.array(AllowEntry),
  /** Where spans and metrics are sent. */
  telemetry: TelemetryConfig,
  /** Private addresses that telemetry may be sent to. */
  telemetryAllow: z.array(AllowEntry),
  plugins: z.array(z.union([z.string().min(1), z.tuple([z.string().min(1), z.record(z.string(), z.unknown())])])),
});
export type Settings = z.infer<typeof Settings>;

const File = Settings.partial();
export type PartialSettings = z.infer<typeof File>;

export function validateOne({ key, value, source }: { key: keyof Settings; value: unknown; source: string }) {
  const result = Settings.shape[key].safeParse(value);
  if (result.success) return { [key]: result.data };
  throw new UsageError(`${source}: ${result.error.issues[0]?.message ?? "not valid"}`);
}

export function validateFile(value: unknown, source: string): PartialSettings {
  const result = File.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const known = Settings.keyof().options;
    throw new UsageError(`${source}: unknown key \`${issue.keys.join("`, `")}\`. Known: ${known.join(", ")}.`);
  }
  const path = issue?.path.join(".") ?? "";
  throw new UsageError(`${source}: ${path === "" ? "" : `\`${path}\`: `}${issue?.message ?? "not valid"}`);
}

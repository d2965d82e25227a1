/** Settings, by rank: flags, then `FRANCA_*`, then the config file, then what we think best. Errors name the key. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BuiltinSettings } from "../builtin/config.ts";
import { defined } from "../core/defined.ts";
import type { PartialSettings as Partly, Settings } from "./settings-schema.ts";
import { UsageError } from "./usage.ts";

export const DEFAULT_PORT = 7717;

type Optional = "token" | "tokenFile" | "watchdogMs" | "builtin" | "defaultAgent" | "acpCommand";
type OptionalOfRetention = "keepDays" | "maxDisk";
type OptionalOfHosts = "databaseUrl" | "databaseUrlFile" | "hostUrl" | "leaseMs" | "maxSessions";

export type LoadedSettings = Omit<Settings, Optional | OptionalOfHosts | OptionalOfRetention> & {
  /** Null where the store needs none. */
  readonly databaseUrl: string | null;
  readonly hostUrl: string | null;
  readonly leaseMs: number | null;
  readonly maxSessions: number | null;
  /** Off when absent. */
  readonly keepDays?: number;
  readonly maxDisk?: number;
  /** Null: as chosen before, else the only one that can run. */
  readonly defaultAgent: string | null;
  readonly builtin: BuiltinSettings;
  readonly acpCommand: string | null;
  /** The folder of the config file: plugins are found from there. */
  readonly configFolder: string;
  /** As named by its owner; null for the data folder's own, `false` for none. */
  readonly token: string | false | null;
  readonly watchdogMs: number | null;
  /** Files that hold the token or the database URL, whether they are used or not. */
  readonly secretFiles: readonly string[];
};

export interface LoadOptions {
  /** As commander gives them; absent ones undefined. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: NodeJS.ProcessEnv;
}

export async function loadSettings({ flags, env }: LoadOptions): Promise<LoadedSettings> {
  const file = configFileOf({ path: textOf(flags.config), env });
  const fromFile = file === null ? {} : await readConfigFile(file);
  const sources = [fromFile, await fromEnvironment(env), await fromFlags(flags)];
  const secretFiles = secretFilesOf(sources, file);
  const ranked = sources.map(withToken);
  const given: Partly = (await Promise.all(ranked.map(withDatabaseUrl))).reduce(override);
  refusePassword(flags.databaseUrl);
  if (typeof flags.token === "string") warnOfArguments();
  return {
    host: given.host ?? "127.0.0.1",
    port: given.port ?? DEFAULT_PORT,
    token: given.token ?? null,
    data: resolve(given.data ?? defaultData(env)),
    store: given.store ?? "sqlite",
    databaseUrl: given.databaseUrl ?? null,
    hostUrl: given.hostUrl ?? null,
    takeOver: given.takeOver ?? false,
    leaseMs: given.leaseMs ?? null,
    label: given.label ?? [],
    maxSessions: given.maxSessions ?? null,
    drain: given.drain ?? false,
    durability: given.durability ?? "normal",
    corsAllowOrigin: given.corsAllowOrigin ?? [],
    defaultAgent: given.defaultAgent ?? null,
    watchdogMs: given.watchdogMs ?? null,
    passEnv: given.passEnv ?? [],
    trustedFolders: given.trustedFolders ?? [],
    hideData: given.hideData ?? "auto",
    secretFiles,
    logLevel: given.logLevel ?? "warn",
    ...defined({ keepDays: given.keepDays, maxDisk: given.maxDisk }),
    stopWaitMs: given.stopWaitMs ?? 0,
    opencodeRoot: given.opencodeRoot ?? true,
    opencodeMessages: given.opencodeMessages ?? "turn",
    opencodeDeltas: given.opencodeDeltas ?? "today",
    finishTodos: given.finishTodos ?? false,
    budgets: given.budgets ?? {},
    builtin: given.builtin ?? {},
    acpCommand: given.acpCommand ?? null,
    plugins: given.plugins ?? [],
    webhooks: given.webhooks ?? {},
    webhookAllow: given.webhookAllow ?? [],
    telemetry: given.telemetry ?? {},
    telemetryAllow: given.telemetryAllow ?? [],
    configFolder: file === null ? process.cwd() : dirname(file),
  };
}

function secretFilesOf(sources: readonly Partly[], configFile: string | null): string[] {
  const named = sources.flatMap(({ tokenFile = [], databaseUrlFile = [] }) => [tokenFile, databaseUrlFile].flat());
  const [{ token, databaseUrl } = {}] = sources;
  const hasSecret = typeof token === "string" || databaseUrl !== undefined;
  return [...named.map((path) => resolve(path)), ...(hasSecret && configFile !== null ? [configFile] : [])];
}

/** A token and a file with the token are one setting: what ranks higher replaces both. */
function withToken({ tokenFile, ...settings }: Partly): Partly {
  if (tokenFile === undefined) return settings;
  if (settings.token !== undefined) throw new UsageError("A token and a token file were given: choose one.");
  return { ...settings, token: readSecretFile("token file", tokenFile) };
}

async function withDatabaseUrl({ databaseUrlFile, ...settings }: Partly): Promise<Partly> {
  if (databaseUrlFile === undefined) return settings;
  if (settings.databaseUrl !== undefined) {
    throw new UsageError("A database URL and a file with it were given: choose one.");
  }
  const value = readSecretFile("database URL file", databaseUrlFile);
  return { ...settings, ...(await valid({ key: "databaseUrl", value, source: resolve(databaseUrlFile) })) };
}

/** Not repeated in the refusal: it would stand in the terminal's history and in logs. */
export function refusePassword(url: unknown): void {
  if (typeof url !== "string" || !URL.canParse(url)) return;
  const { password, searchParams } = new URL(url);
  if (password === "" && !searchParams.has("password")) return;
  throw new UsageError(
    "A password in the command line can be read by every user of this machine: give the database URL in " +
      "FRANCA_DATABASE_URL, with --database-url-file or in the config file.",
  );
}

const override = (low: Partly, high: Partly): Partly => ({ ...low, ...high });

function readSecretFile(what: string, path: string): string {
  const file = resolve(path);
  const secret = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  if (secret === "") throw new UsageError(`The ${what} ${file} does not exist or is empty.`);
  return secret;
}

function warnOfArguments(): void {
  process.stderr.write("--token: every user of this machine can read it in the list of processes; use --token-file.\n");
}

function defaultData(env: NodeJS.ProcessEnv): string {
  return join(folderOf(env.XDG_DATA_HOME) ?? join(homedir(), ".local", "share"), "franca");
}

/** Relative XDG folders are to be ignored, says their specification. */
const folderOf = (path: string | undefined): string | null => (path?.startsWith("/") === true ? path : null);

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

interface ConfigPlace {
  /** As named by a flag. */
  readonly path: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** The config file that is read; null when there is none. */
export function configFileOf({ path, env }: ConfigPlace): string | null {
  const named = path ?? env.FRANCA_CONFIG;
  return named === undefined ? findConfigFile(env) : resolve(named);
}

/** Where `franca config init` writes. */
export const defaultConfigFile = (env: NodeJS.ProcessEnv): string => join(configFolder(env), "franca.config.js");

const configFolder = (env: NodeJS.ProcessEnv): string =>
  join(folderOf(env.XDG_CONFIG_HOME) ?? join(homedir(), ".config"), "franca");

async function readConfigFile(file: string): Promise<Partly> {
  if (!existsSync(file)) throw new UsageError(`The config file ${file} does not exist.`);
  const { validateFile } = await schema();
  return validateFile(await loadConfig(file), file);
}

function findConfigFile(env: NodeJS.ProcessEnv): string | null {
  const folder = configFolder(env);
  const files = ["json", "js", "ts"].map((extension) => join(folder, `franca.config.${extension}`));
  return files.find((file) => existsSync(file)) ?? null;
}

async function loadConfig(file: string): Promise<unknown> {
  try {
    switch (extname(file)) {
      case ".json":
        return JSON.parse(readFileSync(file, "utf8"));
      case ".ts": {
        const { createJiti } = await import("jiti");
        return await createJiti(import.meta.url).import(file, { default: true });
      }
      default: {
        const loaded: { default?: unknown } = await import(pathToFileURL(file).href);
        return loaded.default ?? {};
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The config file ${file} cannot be read: ${reason}`, { cause: error });
  }
}

type Key = keyof Settings;

/** How a setting is written in a flag or a variable. A text is taken as it is, without a schema to load. */
type Form = "text" | "checked text" | "number" | "switch" | "list" | "file only";

const forms: Readonly<Record<Key, Form>> = {
  host: "text",
  port: "number",
  token: "text",
  tokenFile: "text",
  data: "text",
  store: "checked text",
  databaseUrl: "checked text",
  databaseUrlFile: "text",
  hostUrl: "checked text",
  takeOver: "switch",
  label: "list",
  maxSessions: "number",
  drain: "switch",
  leaseMs: "number",
  durability: "checked text",
  corsAllowOrigin: "list",
  defaultAgent: "text",
  watchdogMs: "number",
  passEnv: "list",
  trustedFolders: "file only",
  hideData: "checked text",
  keepDays: "number",
  maxDisk: "checked text",
  stopWaitMs: "number",
  logLevel: "checked text",
  opencodeRoot: "switch",
  opencodeMessages: "checked text",
  opencodeDeltas: "checked text",
  finishTodos: "switch",
  budgets: "file only",
  builtin: "file only",
  acpCommand: "checked text",
  plugins: "file only",
  webhooks: "file only",
  webhookAllow: "list",
  telemetry: "file only",
  telemetryAllow: "list",
};
const isKey = (name: string): name is Key => Object.hasOwn(forms, name);
export const keys: readonly Key[] = Object.keys(forms).filter(isKey);

const schema = () => import("./settings-schema.ts");

export const variableOf = (key: Key): string => `FRANCA_${key.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`;
const flagOf = (key: string): string => `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

async function fromEnvironment(env: NodeJS.ProcessEnv): Promise<Partly> {
  const given: Partly = {};
  for (const key of keys) {
    const name = variableOf(key);
    const text = env[name];
    if (text === undefined || text === "" || forms[key] === "file only") continue;
    Object.assign(given, await valid({ key, value: fromText(key, text), source: name }));
  }
  return given;
}

async function fromFlags(flags: Readonly<Record<string, unknown>>): Promise<Partly> {
  const given: Partly = {};
  for (const key of keys) {
    const value = flags[key];
    // Commander says `true` for a token that only was not refused.
    if (value === undefined || forms[key] === "file only" || (value === true && forms[key] !== "switch")) continue;
    const typed = typeof value === "string" ? fromText(key, value) : value;
    Object.assign(given, await valid({ key, value: typed, source: flagOf(key) }));
  }
  return given;
}

function fromText(key: Key, text: string): unknown {
  switch (forms[key]) {
    case "number":
      return /^-?\d+$/.test(text) ? Number(text) : text;
    case "switch":
      return ["1", "true", "yes"].includes(text) || (["0", "false", "no"].includes(text) ? false : text);
    case "list":
      return text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "");
    default:
      return text;
  }
}

async function valid(given: { key: Key; value: unknown; source: string }): Promise<Partly> {
  const { key, value } = given;
  if (forms[key] === "text" && typeof value === "string" && value !== "") return { [key]: value };
  return (await schema()).validateOne(given);
}

/** Settings, by rank: flags, then `FRANCA_*`, then the config file, then what we think best. Errors name the key. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { BuiltinConfig, type BuiltinSettings } from "../builtin/config.ts";
import { commandProblem } from "../core/acp-command.ts";
import { FinishTodos } from "../protocol/resources.ts";
import { UsageError } from "./usage.ts";

export const DEFAULT_PORT = 7717;
const MAX_WATCHDOG_MS = 7 * 86_400_000;

const PORT = "a port is a whole number from 0 to 65535";
const WATCHDOG = "it is a whole number of milliseconds, from 100 to a week";

/** As browsers send it: anything else would never match, and nobody would know why. */
const isOrigin = (text: string): boolean =>
  text === "*" || (text !== "null" && URL.canParse(text) && new URL(text).origin === text);
const Origin = z.string().refine(isOrigin, "an origin is written like https://example.com, with no path");
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
  store: z.enum(["sqlite", "memory"]),
  durability: z.enum(["normal", "full"]),
  corsAllowOrigin: z.array(Origin),
  defaultAgent: z.string().min(1),
  watchdogMs: z.number(WATCHDOG).int(WATCHDOG).min(100, WATCHDOG).max(MAX_WATCHDOG_MS, WATCHDOG),
  passEnv: z.array(VariableName),
  /** Absolute paths of folders whose settings, hooks, plugins and MCP servers agents may use. */
  trustedFolders: z.array(z.string().startsWith("/", "a trusted folder is an absolute path")),
  logLevel: z.enum(["silent", "error", "warn", "info", "debug"]),
  /** The OpenCode surface also at the root. */
  opencodeRoot: z.boolean(),
  opencodeMessages: z.enum(["turn", "step"]),
  opencodeDeltas: z.enum(["today", "legacy"]),
  /** What sessions do about open todos that say nothing of it themselves. */
  finishTodos: FinishTodos,
  builtin: BuiltinConfig,
  /** The command line of agent `acp`, for sessions that name none. */
  acpCommand: AcpCommand,
  plugins: z.array(z.union([z.string().min(1), z.tuple([z.string().min(1), z.record(z.string(), z.unknown())])])),
});
export type Settings = z.infer<typeof Settings>;

export type LoadedSettings = Omit<
  Settings,
  "token" | "tokenFile" | "watchdogMs" | "builtin" | "defaultAgent" | "acpCommand"
> & {
  /** Null: as chosen before, else the only one that can run. */
  readonly defaultAgent: string | null;
  readonly builtin: BuiltinSettings;
  readonly acpCommand: string | null;
  /** The folder of the config file: plugins are found from there. */
  readonly configFolder: string;
  /** As named by its owner; null for the data folder's own, `false` for none. */
  readonly token: string | false | null;
  readonly watchdogMs: number | null;
};

const File = Settings.partial();
type Partly = z.infer<typeof File>;

export interface LoadOptions {
  /** As commander gives them; absent ones undefined. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: NodeJS.ProcessEnv;
}

export async function loadSettings({ flags, env }: LoadOptions): Promise<LoadedSettings> {
  const file = configFileOf({ path: textOf(flags.config), env });
  const fromFile = file === null ? {} : await readConfigFile(file);
  const given: Partly = [fromFile, fromEnvironment(env), fromFlags(flags)].map(withToken).reduce(override);
  if (typeof flags.token === "string") warnOfArguments();
  return {
    host: given.host ?? "127.0.0.1",
    port: given.port ?? DEFAULT_PORT,
    token: given.token ?? null,
    data: resolve(given.data ?? defaultData(env)),
    store: given.store ?? "sqlite",
    durability: given.durability ?? "normal",
    corsAllowOrigin: given.corsAllowOrigin ?? [],
    defaultAgent: given.defaultAgent ?? null,
    watchdogMs: given.watchdogMs ?? null,
    passEnv: given.passEnv ?? [],
    trustedFolders: given.trustedFolders ?? [],
    logLevel: given.logLevel ?? "warn",
    opencodeRoot: given.opencodeRoot ?? true,
    opencodeMessages: given.opencodeMessages ?? "turn",
    opencodeDeltas: given.opencodeDeltas ?? "today",
    finishTodos: given.finishTodos ?? false,
    builtin: given.builtin ?? {},
    acpCommand: given.acpCommand ?? null,
    plugins: given.plugins ?? [],
    configFolder: file === null ? process.cwd() : dirname(file),
  };
}

/** A token and a file with the token are one setting: what ranks higher replaces both. */
function withToken({ tokenFile, ...settings }: Partly): Partly {
  if (tokenFile === undefined) return settings;
  if (settings.token !== undefined) throw new UsageError("A token and a token file were given: choose one.");
  return { ...settings, token: readTokenFile(resolve(tokenFile)) };
}

const override = (low: Partly, high: Partly): Partly => ({ ...low, ...high });

function readTokenFile(file: string): string {
  const token = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  if (token === "") throw new UsageError(`The token file ${file} does not exist or is empty.`);
  return token;
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
  return validate(File, await loadConfig(file), { source: file });
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

const numbers: ReadonlySet<Key> = new Set<Key>(["port", "watchdogMs"]);
const switches: ReadonlySet<Key> = new Set<Key>(["opencodeRoot", "finishTodos"]);
/** Too much for a flag or a variable. */
const fileOnly: ReadonlySet<Key> = new Set<Key>(["builtin", "plugins", "trustedFolders"]);
const lists: ReadonlySet<Key> = new Set<Key>(["corsAllowOrigin", "passEnv"]);
const keys: readonly Key[] = Settings.keyof().options;

export const variableOf = (key: Key): string => `FRANCA_${key.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`;
const flagOf = (key: string): string => `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function fromEnvironment(env: NodeJS.ProcessEnv): Partly {
  const given: Partly = {};
  for (const key of keys) {
    const name = variableOf(key);
    const text = env[name];
    if (text === undefined || text === "" || fileOnly.has(key)) continue;
    Object.assign(given, validateOne({ key, value: fromText(key, text), source: name }));
  }
  return given;
}

function fromFlags(flags: Readonly<Record<string, unknown>>): Partly {
  const given: Partly = {};
  for (const key of keys) {
    const value = flags[key];
    // Commander says `true` for a token that only was not refused.
    if (value === undefined || fileOnly.has(key) || (value === true && !switches.has(key))) continue;
    const typed = typeof value === "string" ? fromText(key, value) : value;
    Object.assign(given, validateOne({ key, value: typed, source: flagOf(key) }));
  }
  return given;
}

function fromText(key: Key, text: string): unknown {
  if (numbers.has(key)) return /^-?\d+$/.test(text) ? Number(text) : text;
  if (switches.has(key))
    return ["1", "true", "yes"].includes(text) || (["0", "false", "no"].includes(text) ? false : text);
  if (!lists.has(key)) return text;
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function validateOne({ key, value, source }: { key: Key; value: unknown; source: string }): Partly {
  const result = Settings.shape[key].safeParse(value);
  if (result.success) return { [key]: result.data };
  throw new UsageError(`${source}: ${result.error.issues[0]?.message ?? "not valid"}`);
}

function validate<T extends z.ZodType>(schema: T, value: unknown, { source }: { source: string }): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code === "unrecognized_keys") {
    throw new UsageError(`${source}: unknown key \`${issue.keys.join("`, `")}\`. Known: ${keys.join(", ")}.`);
  }
  const path = issue?.path.join(".") ?? "";
  throw new UsageError(`${source}: ${path === "" ? "" : `\`${path}\`: `}${issue?.message ?? "not valid"}`);
}

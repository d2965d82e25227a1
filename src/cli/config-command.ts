/** `franca config`: which settings hold, where they come from, and a commented file to begin with. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { configFileOf, defaultConfigFile, type LoadedSettings, loadSettings } from "./config.ts";
import { printJson, table } from "./table.ts";
import { CommandError } from "./usage.ts";

interface Flags {
  readonly config?: string;
  readonly data?: string;
  readonly json?: true;
}

export function define(command: Command): void {
  command
    .command("show", { isDefault: true })
    .description("the settings in effect (default)")
    .option("--json", "as JSON")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .action(show);
  command
    .command("path")
    .description("the config file that is read")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .action(path);
  command
    .command("init")
    .argument("[file]", "where to write it")
    .description("write a config file with every setting, commented out")
    .action(init);
  command.addHelpText(
    "after",
    "\nFlags win over FRANCA_… variables, and those over the config file.\n\nExamples:\n  $ franca config\n  $ franca config init",
  );
}

async function show(flags: Flags): Promise<void> {
  const settings = await loadSettings({ flags: { ...flags }, env: process.env });
  const shown = withoutSecrets(settings);
  if (flags.json === true) return printJson(shown);
  const rows = Object.entries(shown).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  process.stdout.write(table([["SETTING", "VALUE"], ...rows]));
  const file = configFileOf({ path: flags.config, env: process.env });
  process.stderr.write(
    file === null
      ? `No config file: franca config init writes one.\n`
      : `From ${file}, FRANCA_… variables and flags.\n`,
  );
}

/** Tokens and keys are not for screens. */
function withoutSecrets({
  token,
  databaseUrl,
  builtin,
  webhooks,
  configFolder: _folder,
  secretFiles: _files,
  ...settings
}: LoadedSettings): Record<string, unknown> {
  const provider = Object.fromEntries(
    Object.entries(builtin.provider ?? {}).map(([name, { apiKey, ...own }]) => [
      name,
      apiKey === undefined ? own : { ...own, apiKey: "(hidden)" },
    ]),
  );
  const hooks = Object.entries(webhooks).map(([name, hook]) => [
    name,
    hook.url === undefined ? hook : { ...hook, url: `${new URL(hook.url).origin}/(hidden)` },
  ]);
  return {
    ...settings,
    webhooks: Object.fromEntries(hooks),
    defaultAgent: settings.defaultAgent ?? "(the only one that can run)",
    databaseUrl: databaseUrl === null ? null : "(hidden)",
    token: token === null ? "(the data folder's own)" : token === false ? false : "(hidden)",
    builtin: builtin.provider === undefined ? builtin : { ...builtin, provider },
  };
}

async function path({ config }: Flags): Promise<void> {
  const file = configFileOf({ path: config, env: process.env });
  process.stdout.write(`${file ?? defaultConfigFile(process.env)}\n`);
  if (file === null) process.stderr.write("It does not exist yet: franca config init writes it.\n");
}

async function init(named: string | undefined): Promise<void> {
  const file = named === undefined ? defaultConfigFile(process.env) : resolve(named);
  const former = named === undefined ? configFileOf({ path: undefined, env: process.env }) : null;
  if (existsSync(file) || former !== null)
    throw new CommandError(`${former ?? file} exists already; it is not replaced.`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, TEMPLATE, { mode: 0o600, flag: "wx" });
  process.stdout.write(`${file}\n`);
}

const TEMPLATE = `// Settings of Franca. Remove the // before a line to set it. franca config shows what is in effect.
export default {
  // The agent of sessions that name none: claude, codex, opencode, amp, builtin or mock.
  // defaultAgent: "claude",

  // Where the daemon listens.
  // host: "127.0.0.1",
  // port: 7717,

  // The token that clients must send; the data folder has one of its own.
  // tokenFile: "/path/to/token",

  // Where sessions are stored, and whether a write waits for the disk ("full") or for the system ("normal").
  // data: "/path/to/folder",
  // durability: "normal",

  // Folders whose settings, hooks, plugins and MCP servers agents may use.
  // trustedFolders: ["/home/me/project"],

  // Hide the data folder from agents: "auto" (where possible), "require" or "off".
  // hideData: "require",

  // Environment variables that every agent gets, beside the usual ones.
  // passEnv: ["MY_VARIABLE"],

  // How long an agent with nothing open may be silent before its turn ends, in milliseconds.
  // watchdogMs: 600000,

  // Let turns continue while todos are open, within bounds.
  // finishTodos: true,

  // What may be used: by each prompt, by each session, in a day by all, and by an agent in a day (docs/budgets.md).
  // budgets: { prompt: { costUsd: 1 }, day: { costUsd: 20 }, agents: { codex: { tokens: 5000000 } } },

  // The builtin agent: its model, and model servers of your own.
  // builtin: {
  //   model: "anthropic/claude-sonnet-4-5",
  //   provider: { local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:8000" } },
  // },

  // The program behind agent "acp": a name on PATH or an absolute path, with its arguments.
  // acpCommand: "my-agent --acp",

  // URLs that are called when a turn ends or somebody is asked (docs/webhooks.md).
  // webhooks: {
  //   ci: { url: "https://ci.example.com/hooks/franca", secretVariable: "CI_WEBHOOK_SECRET" },
  // },

  // Spans and metrics for an OpenTelemetry receiver (docs/telemetry.md).
  // telemetry: { endpoint: "http://127.0.0.1:4318" },
  // telemetryAllow: ["127.0.0.1"],

  // Pages of other origins that may use the API.
  // corsAllowOrigin: ["https://example.com"],

  // silent, error, warn, info or debug.
  // logLevel: "warn",
};
`;

/** The options of the daemon, for `serve` and for `daemon start`. */
import { type Command, Option } from "commander";

const list = (value: string, former: string[] | undefined): string[] => [...(former ?? []), ...value.split(",")];

export function addServeOptions(command: Command): Command {
  return addStoreOptions(command)
    .option("--config <file>", "the config file")
    .option("--host <address>", "the address to listen on (default: 127.0.0.1)")
    .option("--port <number>", "the port; 0 chooses a free one (default: 7717)")
    .option("--token <token>", "the token that clients must send (default: the data folder's own)")
    .option("--token-file <file>", "a file that holds the token")
    .option("--no-token", "require no token: every program and user of this machine has access; loopback only")
    .option("--data <folder>", "the data folder, where sessions are stored (default: $XDG_DATA_HOME/franca)")
    .option("--cors-allow-origin <origin>", "pages that may use the daemon (repeatable)", list)
    .option(
      "--default-agent <agent>",
      "the agent of sessions that name none (default: the only one that can run, else mock)",
    )
    .option("--watchdog-ms <ms>", "end a turn when the agent is silent for this long with nothing open")
    .option(
      "--pass-env <name>",
      "environment variables passed to agents in addition to the usual ones (repeatable)",
      list,
    )
    .addOption(hideDataOption())
    .option(
      "--webhook-allow <host>",
      "private host, address or network that webhooks may be sent to (repeatable; docs/webhooks.md)",
      list,
    )
    .option("--telemetry-allow <host>", "private host that telemetry may be sent to (docs/telemetry.md)", list)
    .option("--opencode-root", "serve OpenCode's API at the root too, not only at /opencode (default)")
    .option("--no-opencode-root", "serve OpenCode's API at /opencode only")
    .addOption(
      new Option(
        "--opencode-messages <form>",
        "OpenCode API: one assistant message per turn or per model step",
      ).choices(["turn", "step"]),
    )
    .addOption(
      new Option("--opencode-deltas <form>", "OpenCode API: delta format, current or for older clients").choices([
        "today",
        "legacy",
      ]),
    )
    .option("--keep-days <days>", "delete idle sessions without a change for so many days (default: keep all)")
    .option(
      "--max-disk <size>",
      "delete the oldest idle sessions while more than this is stored, like 2GB (default: off)",
    )
    .option("--stop-wait-ms <ms>", "on a signal to stop, let running turns end for up to this long (default: 0)")
    .addOption(
      new Option("--log-level <level>", "level of the log on standard error (default: warn)").choices([
        "silent",
        "error",
        "warn",
        "info",
        "debug",
      ]),
    );
}

/** For every command that starts agents itself. */
export const hideDataOption = (): Option =>
  new Option(
    "--hide-data <mode>",
    "hide the data folder from agents: where possible, always, or not at all (default: auto)",
  ).choices(["auto", "require", "off"]);

function addStoreOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--store <kind>", "where events are stored; memory is lost at the end").choices([
        "sqlite",
        "memory",
        "postgres",
      ]),
    )
    .addOption(
      new Option("--durability <kind>", "normal survives a crash of the process; full also a power loss").choices([
        "normal",
        "full",
      ]),
    )
    .option("--database-url-file <file>", "a file with the URL of the Postgres database (or FRANCA_DATABASE_URL)")
    .addOption(new Option("--database-url <url>").hideHelp())
    .option("--host-url <url>", "Postgres: the address by which other hosts reach this one")
    .option("--take-over", "Postgres: this host may run the sessions of hosts that are gone")
    .option("--label <label>", "Postgres: what sessions may ask for in their placement (repeatable)", list)
    .option("--max-sessions <n>", "Postgres: so many sessions may be open here before no more are placed here")
    .option("--drain", "when stopped: take nothing new and let turns end (--stop-wait-ms, ten minutes by default)")
    .option("--lease-ms <ms>", "Postgres: how long a host owns its sessions without a renewal (default: 15000)");
}

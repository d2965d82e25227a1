/** The options of the daemon, for `serve` and for `daemon start`. */
import { type Command, Option } from "commander";

export function addServeOptions(command: Command): Command {
  const list = (value: string, former: string[] | undefined): string[] => [...(former ?? []), ...value.split(",")];
  return command
    .option("--config <file>", "the config file")
    .option("--host <address>", "where to listen (default: 127.0.0.1)")
    .option("--port <number>", "0 takes any free one (default: 7717)")
    .option("--token <token>", "the token that clients must send (default: the data folder's own)")
    .option("--token-file <file>", "the same, read from a file")
    .option("--no-token", "let every program and user of this machine in; loopback only")
    .option("--data <folder>", "where sessions are kept (default: $XDG_DATA_HOME/franca)")
    .addOption(new Option("--store <kind>", "memory forgets everything at the end").choices(["sqlite", "memory"]))
    .addOption(new Option("--durability <kind>", "full also survives loss of power").choices(["normal", "full"]))
    .option("--cors-allow-origin <origin>", "pages that may use the daemon (repeatable)", list)
    .option("--default-agent <agent>", "for sessions that name none (default: mock)")
    .option("--watchdog-ms <ms>", "how long a silent agent with nothing open may be silent")
    .option("--pass-env <name>", "environment variables agents get besides the usual ones (repeatable)", list)
    .option("--opencode-root", "OpenCode's API also at the root, not only at /opencode (default)")
    .option("--no-opencode-root", "OpenCode's API at /opencode only")
    .addOption(
      new Option("--opencode-messages <form>", "there, one assistant message per turn or per model step").choices([
        "turn",
        "step",
      ]),
    )
    .addOption(
      new Option("--opencode-deltas <form>", "there, text in today's form or as older clients read it").choices([
        "today",
        "legacy",
      ]),
    )
    .addOption(
      new Option("--log-level <level>", "on standard error (default: warn)").choices([
        "silent",
        "error",
        "warn",
        "info",
        "debug",
      ]),
    );
}

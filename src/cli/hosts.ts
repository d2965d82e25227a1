/** `franca hosts`: the daemons that share one log on Postgres, and which sessions are theirs. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import type { HostList } from "../protocol/resources.ts";
import { openHttp } from "../sdk/http.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";
import { printJson, table } from "./table.ts";
import { CommandError } from "./usage.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command)
    .option("--json", "as JSON")
    .addHelpText("after", "\nExamples:\n  $ franca hosts\n  $ franca hosts --server http://10.0.0.5:7717 --json")
    .action((flags: object) => list({ ...flags }));
}

async function list(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs that could be asked: start it with franca serve.");
  const http = openHttp({ url, data, ...defined({ token: token ?? undefined }) });
  const { hosts } = await http.json<HostList>("/v1/hosts");
  if (flags.json === true) return printJson({ hosts });
  if (hosts.length === 0) {
    process.stdout.write("This daemon shares its log with no other: it runs without --store postgres.\n");
    return;
  }
  const rows = hosts.map((host) => [
    `${host.id}${host.self ? " (this one)" : ""}`,
    host.alive ? "alive" : "gone",
    host.url,
    String(host.openSessions),
    String(host.homeOf),
    host.version,
  ]);
  process.stdout.write(table([["HOST", "STATE", "URL", "OPEN", "SESSIONS", "VERSION"], ...rows]));
}

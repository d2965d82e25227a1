/** `franca hosts`: the daemons that share one log on Postgres, and which sessions are theirs. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import type { HostList, HostSummary } from "../protocol/resources.ts";
import { type Http, openHttp } from "../sdk/http.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";
import { printJson, table } from "./table.ts";
import { CommandError } from "./usage.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  addDoorOptions(command.command("list", { isDefault: true }))
    .description("list hosts")
    .option("--json", "as JSON")
    .action((flags: object) => list({ ...flags }));
  addDoorOptions(command.command("drain <host>"))
    .description("let a host take nothing new: its turns end, and other hosts may take its sessions")
    .action((host: string, flags: object) => drain(host, { ...flags }));
  command.addHelpText(
    "after",
    "\nExamples:\n  $ franca hosts\n  $ franca hosts --server http://10.0.0.5:7717 --json\n  $ franca hosts drain 4f1c",
  );
}

async function openDaemonHttp(flags: Flags): Promise<Http> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs that could be asked: start it with franca serve.");
  return openHttp({ url, data, ...defined({ token: token ?? undefined }) });
}

async function drain(host: string, flags: Flags): Promise<void> {
  const http = await openDaemonHttp(flags);
  await http.request(`/v1/hosts/${encodeURIComponent(host)}/drain`, { method: "POST" });
  process.stdout.write(`Host ${host} takes nothing new any more. franca hosts shows when nothing is open there.\n`);
}

async function list(flags: Flags): Promise<void> {
  const http = await openDaemonHttp(flags);
  const { hosts } = await http.json<HostList>("/v1/hosts");
  if (flags.json === true) return printJson({ hosts });
  if (hosts.length === 0) {
    process.stdout.write("This daemon shares its log with no other: it runs without --store postgres.\n");
    return;
  }
  const rows = hosts.map((host) => [
    `${host.id}${host.self ? " (this one)" : ""}`,
    stateOf(host),
    host.url,
    String(host.openSessions),
    String(host.homeOf),
    host.labels.join(" "),
    host.version,
  ]);
  process.stdout.write(table([["HOST", "STATE", "URL", "OPEN", "SESSIONS", "LABELS", "VERSION"], ...rows]));
}

const stateOf = ({ alive, draining }: HostSummary): string => (alive ? (draining ? "draining" : "alive") : "gone");

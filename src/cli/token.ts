/** `franca token`: prints the owner's token, and lists and revokes the credentials of other clients. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import { ApiError } from "../protocol/errors.ts";
import type { TokenList, TokenSummary } from "../protocol/tokens.ts";
import { ensureToken } from "../runtime/data-folder.ts";
import { type Http, openHttp } from "../sdk/http.ts";
import { openCredentials } from "../server/credentials/store.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";
import { printJson, table } from "./table.ts";
import { CommandError } from "./usage.ts";

type Flags = Readonly<Record<string, unknown>>;

export function define(command: Command): void {
  command
    .option("--header", "as an HTTP header, for curl -H @<(franca token --header)")
    .option("--data <folder>", "the data folder (FRANCA_DATA)")
    .option("--config <file>", "the config file (FRANCA_CONFIG)")
    .addHelpText(
      "after",
      `
Examples:
  $ curl -H @<(franca token --header) http://127.0.0.1:7717/v1/sessions
  $ franca token list
  $ franca token revoke 6Xh2pQ
  $ franca token revoke`,
    )
    .action((flags: object) => print({ ...flags }));
  addDoorOptions(command.command("list"))
    .description("list the credentials of pages, launched programs and agents; secrets are never shown")
    .option("--json", "as JSON")
    .action((_own: object, listing: Command) => list(listing.optsWithGlobals()));
  addDoorOptions(command.command("revoke [id]"))
    .description("revoke a credential by its id or the beginning of it; without one, log out all pages")
    .action((id: string | undefined, _own: object, revoking: Command) => revoke(id, revoking.optsWithGlobals()));
}

async function print(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const text = typeof token === "string" ? token : ensureToken(data);
  process.stdout.write(flags.header === true ? `Authorization: Bearer ${text}\n` : `${text}\n`);
}

async function openDaemonHttp(flags: Flags): Promise<Http> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs. Start one with: franca daemon start");
  return openHttp({ url, data, ...defined({ token: token ?? undefined }) });
}

/** Number of characters of an id that are shown. */
const SHOWN = 12;

async function list(flags: Flags): Promise<void> {
  const { tokens } = await (await openDaemonHttp(flags)).json<TokenList>("/v1/tokens");
  if (flags.json === true) return printJson({ tokens });
  if (tokens.length === 0) {
    process.stdout.write("No credentials.\n");
    return;
  }
  process.stdout.write(table([["ID", "KIND", "SURFACE", "FOLDERS", "ACTIONS", "EXPIRES"], ...tokens.map(rowOf)]));
}

const rowOf = ({ id, kind, surface, folders, sessions, actions, expiresAt, pid }: TokenSummary): string[] => [
  id.slice(0, SHOWN),
  kind,
  surface,
  folders === null ? "all" : [...folders, ...sessions.map((session) => `session ${session}`)].join(" "),
  actions.join(","),
  [expiresAt ?? "", ...(pid === null ? [] : [`with process ${pid}`])].filter((text) => text !== "").join(" or "),
];

async function revoke(beginning: string | undefined, flags: Flags): Promise<void> {
  if (beginning === undefined) return logOutPages(flags);
  const http = await openDaemonHttp(flags);
  const { tokens } = await http.json<TokenList>("/v1/tokens");
  const [found, ...others] = tokens.filter(({ id }) => id.startsWith(beginning));
  if (found === undefined) throw new CommandError(`There is no credential ${beginning}. See: franca token list`);
  if (others.length > 0) throw new CommandError(`Several credentials begin with ${beginning}. Give more of the id.`);
  await http.request(`/v1/tokens/${encodeURIComponent(found.id)}`, { method: "DELETE" }).catch((error: unknown) => {
    // The credential ended in the meantime.
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
  });
  process.stdout.write(`Revoked: ${found.id.slice(0, SHOWN)} (${found.kind})\n`);
}

/** Without a running daemon, only the credentials in the data folder exist. */
async function logOutPages(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  if ((await daemonAddress({ flags, env: process.env })) === null) {
    const { data } = await loadSettings({ flags, env: process.env });
    const done = new AbortController();
    openCredentials({ folder: data, signal: done.signal }).revokeLogins();
    done.abort();
  } else await (await openDaemonHttp(flags)).request("/v1/login", { method: "DELETE" });
  process.stdout.write("All pages are logged out.\n");
}

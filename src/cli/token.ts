/** `franca token`: the secret of the data folder, for programs of its user that are not ours. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import { ensureToken } from "../runtime/data-folder.ts";
import { connect } from "../sdk/index.ts";
import { revokeLogins } from "../server/http/logins.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";

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
  $ franca token revoke`,
    )
    .action((flags: object) => print({ ...flags }));
  addDoorOptions(command.command("revoke"))
    .description("log out all pages: their credentials and unused login codes end")
    .action((_own: object, revoking: Command) => revoke(revoking.optsWithGlobals()));
}

async function print(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const text = typeof token === "string" ? token : ensureToken(data);
  process.stdout.write(flags.header === true ? `Authorization: Bearer ${text}\n` : `${text}\n`);
}

async function revoke(flags: Flags): Promise<void> {
  refuseInsideSession(process.env);
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) revokeLogins(data);
  else await connect({ url, data, ...defined({ token: token ?? undefined }) }).revokeLogins();
  process.stdout.write("All pages are logged out.\n");
}

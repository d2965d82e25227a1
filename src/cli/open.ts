/** `franca open`: a link that logs a browser in. Its one-time code is for the person at the terminal only. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import { connect } from "../sdk/index.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress } from "./door.ts";
import { CommandError } from "./usage.ts";

/** In the fragment: browsers send it to nobody, and the page removes it at once. */
export const pageLink = (url: string, code: string): string => `${url}/#code=${code}`;

export function define(command: Command): void {
  addDoorOptions(command)
    .addHelpText("after", "\nThe link works once, for 10 minutes.\n\nExamples:\n  $ franca open")
    .action((flags: object) => open({ ...flags }));
}

async function open(flags: Readonly<Record<string, unknown>>): Promise<void> {
  if (!process.stdout.isTTY) {
    throw new CommandError("The link holds a login code, which is shown in a terminal only: run franca open in one.");
  }
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs: start one with franca serve.");
  const { code } = await connect({ url, data, ...defined({ token: token ?? undefined }) }).makeLoginCode();
  process.stdout.write(`${pageLink(url, code)}\n`);
}

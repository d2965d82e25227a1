/** `franca open`: a link that logs a browser in. Its one-time code is for the person at the terminal only. */
import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import { connect } from "../sdk/index.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, type Door, daemonAddress } from "./door.ts";
import { sessionNamed } from "./session-id.ts";
import { CommandError } from "./usage.ts";

/** In the fragment: browsers send it to nobody, and the page removes it at once. */
export const pageLink = (url: string, code: string, place: string | null = null): string =>
  `${url}/#code=${code}${place === null ? "" : `&to=${encodeURIComponent(place)}`}`;

/** For a browser that is logged in already. */
export const sessionLink = (url: string, session: string): string => `${url}/#${sessionPlace(session)}`;

export const sessionPlace = (session: string): string => `/s/${encodeURIComponent(session)}`;
export const comparisonPlace = (id: string): string => `/compare/${encodeURIComponent(id)}`;

/** With a one-time code for a person at a terminal; what goes into a file or a pipe holds none. */
export async function linkFor({ url, makeLoginCode }: Door, place: string): Promise<string | null> {
  if (url === null) return null;
  if (!process.stderr.isTTY || makeLoginCode === null) return `${url}/#${place}`;
  return pageLink(url, await makeLoginCode(), place);
}

export function define(command: Command): void {
  addDoorOptions(command.argument("[session]", "the session to show: its id, or the beginning of it"))
    .addHelpText(
      "after",
      "\nThe link works once, for 10 minutes.\n\nExamples:\n  $ franca open\n  $ franca open 3f2a9c1d",
    )
    .action((session: string | undefined, flags: object) => open(session ?? null, { ...flags }));
}

async function open(named: string | null, flags: Readonly<Record<string, unknown>>): Promise<void> {
  if (!process.stdout.isTTY) {
    throw new CommandError("The link holds a login code, which is shown in a terminal only: run franca open in one.");
  }
  const { token, data } = await loadSettings({ flags, env: process.env });
  const url = await daemonAddress({ flags, env: process.env });
  if (url === null) throw new CommandError("No daemon runs: start one with franca serve.");
  const client = connect({ url, data, ...defined({ token: token ?? undefined }) });
  const session = named === null ? null : await sessionNamed({ list: client.sessions }, named);
  const { code } = await client.makeLoginCode();
  process.stdout.write(`${pageLink(url, code, session === null ? null : sessionPlace(session))}\n`);
}

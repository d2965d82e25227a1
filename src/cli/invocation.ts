/** How this program was called, for hints that work as they are printed. */
import { basename } from "node:path";

/** `franca`, `npx franca`, or `node` with the path of a checkout's program. */
export function programName({
  argv,
  env,
}: {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}): string {
  const path = argv[1] ?? "franca";
  if (env.npm_command === "exec" || env.npm_lifecycle_event === "npx") return "npx franca";
  if (env.npm_lifecycle_event === "start") return "node bin/franca.js";
  return basename(path) === "franca.js" ? `node ${quoted(path)}` : "franca";
}

/** The options that say where sessions are; variables of the shell are still there for the next command. */
export function placeOptions(flags: Readonly<Record<string, unknown>>): string {
  const { server, attach, data, config, tokenFile } = flags;
  const given = { "--server": server ?? attach, "--data": data, "--config": config, "--token-file": tokenFile };
  return Object.entries(given)
    .filter(([, value]) => typeof value === "string")
    .map(([name, value]) => ` ${name} ${quoted(String(value))}`)
    .join("");
}

/** As a shell reads it back. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** `franca version`: this program's version and what it runs on, for bug reports. */
import type { Command } from "commander";
import { version } from "../server/version.ts";
import { printJson } from "./table.ts";

export function define(command: Command): void {
  command.option("--json", "as JSON").action(({ json }: { readonly json?: true }) => {
    const { versions, platform, arch } = process;
    if (json === true) return printJson({ version, node: versions.node, platform, arch });
    process.stdout.write(`franca ${version} (node ${versions.node}, ${platform} ${arch})\n`);
  });
}

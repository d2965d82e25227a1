/** A daemon of its own with one real agent on a scripted model, for tests from the outside. */
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { serve } from "./daemon.ts";

export const programs = {
  opencode: process.env.FRANCA_TEST_OPENCODE,
  claude: process.env.FRANCA_TEST_CLAUDE,
  codex: process.env.FRANCA_TEST_CODEX,
};

/** A daemon that finds just this agent, in folders of its own. */
export async function daemonFor(agent: "claude" | "codex", env: Readonly<Record<string, string>>, folder: string) {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  symlinkSync(programs[agent] ?? "", join(bin, agent));
  const folders = (process.env.PATH ?? "").split(delimiter).filter((part) => !part.includes("node_modules"));
  const system = agent === "codex" ? [withoutBubblewrap(folders, join(folder, "programs"))] : folders;
  const { url, child } = await serve({
    home: folder,
    args: ["--no-token", "--port", "0", "--default-agent", agent, "--pass-env", "SCRIPTED_KEY"],
    env: { PATH: [bin, ...system].join(delimiter), ...env },
  });
  // Asked, not killed: it takes its agents with it, and nobody writes into the folders when these are removed.
  onTestFinished(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  });
  return url;
}

/** Links to all programs but bubblewrap: as root, Codex's sandbox with it does not find its own helper program. */
function withoutBubblewrap(folders: readonly string[], target: string): string {
  mkdirSync(target);
  for (const folder of folders.filter((one) => existsSync(one))) {
    for (const name of readdirSync(folder)) {
      const link = join(target, name);
      if (name !== "bwrap" && lstatSync(link, { throwIfNoEntry: false }) === undefined) {
        symlinkSync(join(folder, name), link);
      }
    }
  }
  return target;
}

export function claudeEnvironment(folder: string, url: string): Record<string, string> {
  for (const name of ["home", "tmp"]) mkdirSync(join(folder, name));
  return {
    HOME: join(folder, "home"),
    TMPDIR: join(folder, "tmp"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "dummy",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

export function codexEnvironment(folder: string, url: string): Record<string, string> {
  const home = join(folder, "codex");
  mkdirSync(home);
  const provider = ['name = "scripted"', `base_url = "${url}/v1"`, 'wire_api = "responses"'];
  writeFileSync(
    join(home, "config.toml"),
    ['model = "gpt-5.5"', 'model_provider = "scripted"', "[model_providers.scripted]", ...provider]
      .concat('env_key = "SCRIPTED_KEY"', "")
      .join("\n"),
  );
  return { CODEX_HOME: home, SCRIPTED_KEY: "none", SHELL: "/bin/bash" };
}

export async function trust(url: string, directory: string): Promise<void> {
  const trusted = await fetch(`${url}/v1/trust`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ directory, force: true }),
  });
  expect(trusted.ok).toBe(true);
}

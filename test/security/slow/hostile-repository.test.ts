/**
 * A hostile repository opened with each real agent: until a person trusts it nothing of it runs. Once trusted its traps
 * do run, which shows that they work.
 */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ScriptTurn } from "../../../src/model-server/script.ts";
import type { PermissionMode, UniversalEvent } from "../../../src/protocol/events.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { type HostileRepository, makeHostileRepository } from "../../support/hostile-repository.ts";
import { describeNeeding } from "../../support/requires.ts";
import {
  type AgentDaemon,
  type AgentName,
  agentNames,
  calls,
  missing,
  oneTurn,
  says,
  serveAgent,
} from "../../support/security-agents.ts";

/** A file is read and edited, a command is run, and one more is tried that a person refuses. */
function turnsOf(agent: AgentName, { folder, trap }: HostileRepository): ScriptTurn[] {
  const file = join(folder, "README.md");
  const [before, after] = ["A small demo project.", "A small project."];
  const refused = trap("refused-command");
  switch (agent) {
    case "claude":
      return [
        calls("Read", { file_path: file }),
        calls("Edit", { file_path: file, old_string: before, new_string: after }),
        calls("Bash", { command: "git status --short", description: "Look" }),
        calls("Bash", { command: refused, description: "Refused" }),
        says("Done."),
      ];
    case "codex":
      return [
        calls("exec_command", { cmd: "cat README.md" }),
        calls("apply_patch", `*** Begin Patch\n*** Update File: README.md\n@@\n-${before}\n+${after}\n*** End Patch\n`),
        calls("exec_command", { cmd: refused, sandbox_permissions: "require_escalated", justification: "Needed." }),
        says("Done."),
      ];
    case "opencode":
      return [
        calls("read", { filePath: file }),
        calls("edit", { filePath: file, oldString: before, newString: after }),
        says("Done."),
      ];
  }
}

/** A person allows the edit and nothing else. */
const isAllowed = (event: UniversalEvent): boolean => !/touch|git status/.test(JSON.stringify(event.data));

interface Opened extends AgentDaemon {
  readonly repository: HostileRepository;
}

async function open(agent: AgentName, { withoutOpenCode = false } = {}): Promise<Opened> {
  const home = realpathSync(temporaryFolder());
  const repository = makeHostileRepository({ home, withoutOpenCode });
  const path = [join(repository.folder, "node_modules", ".bin")];
  const daemon = await serveAgent(agent, { home, turns: turnsOf(agent, repository), path });
  return { ...daemon, repository };
}

/** The daemon is stopped, with all of its agents: what they run at their end has run. */
async function stop({ served }: Opened): Promise<void> {
  const ended = once(served.child, "exit");
  served.child.kill("SIGTERM");
  await ended;
}

/** Everything that the agent keeps in the user's own files. */
const usersFiles = (home: string): string =>
  readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((path) => /(^|\/)(config\.toml|\.claude\.json|settings\.json)$/.test(path))
    .map((path) => readFileSync(join(home, path), "utf8"))
    .join("\n");

const errorsOf = (events: readonly UniversalEvent[]) =>
  events.flatMap((event) => (event.type === "turn.ended" ? [{ reason: event.data.reason, ...event.data.error }] : []));

const modes: Readonly<Record<AgentName, readonly PermissionMode[]>> = {
  claude: ["default", "acceptEdits"],
  codex: ["default", "acceptEdits", "bypass"],
  opencode: ["default"],
};

for (const agent of agentNames) {
  describeNeeding(`a hostile repository with ${agent}`, { missing: missing(agent) }, () => {
    test.each(modes[agent])(
      "not trusted, mode %s: nothing of it runs, and no file of the user is changed",
      async (mode) => {
        const opened = await open(agent, { withoutOpenCode: true });
        const { client, env, repository } = opened;
        const session = await client.create({ agent, directory: repository.folder, env, permissionMode: mode });
        const events = await oneTurn(session, isAllowed);
        // Claude Code ends its turn where a person says no.
        const reason = agent === "claude" ? "rejected" : "completed";
        expect(errorsOf(events)).toEqual([{ reason }]);
        expect(await session.get()).toMatchObject({ trusted: false });
        await lookAround(opened);
        await stop(opened);
        // With bypass everything that the model asks for runs: that is what the person chose.
        expect(repository.ran().filter((name) => mode !== "bypass" || name !== "refused-command")).toEqual([]);
        expect(usersFiles(env.HOME ?? "")).not.toMatch(/trust_level|"hasTrustDialogAccepted": ?true/);
        expect(readFileSync(join(repository.folder, "README.md"), "utf8")).toContain("project.");
      },
    );

    test("trusted by a person: its own files are used, which shows that the traps work", async () => {
      const opened = await open(agent);
      const { client, env, repository } = opened;
      await client.addTrust(repository.folder, { force: true });
      const session = await client.create({ agent, directory: repository.folder, env });
      await session.prompt("Go on.");
      await expect.poll(() => ran(repository, agent), { timeout: 60_000 }).not.toEqual([]);
      await stop(opened);
      expect(repository.ran().filter((name) => name.startsWith("bin-"))).toEqual([]);
      expect(usersFiles(env.HOME ?? "")).not.toMatch(/trust_level|"hasTrustDialogAccepted": ?true/);
    });
  });
}

const ran = (repository: HostileRepository, agent: AgentName): string[] =>
  repository.ran().filter((name) => name.startsWith(`${agent}-`));

/** What a client shows of the folder, through its links and past its patterns too. */
async function lookAround({ served, repository }: Opened): Promise<void> {
  const headers = { authorization: `Bearer ${served.token}` };
  const paths = [
    "/vcs",
    "/vcs/status",
    "/file/status",
    "/find/file?query=aaaa",
    "/find?pattern=canary",
    "/file?path=.",
    "/file/content?path=link.txt",
    `/file/content?path=everything${repository.secret}`,
  ];
  for (const path of paths) {
    const sign = path.includes("?") ? "&" : "?";
    const url = `${served.url}/opencode${path}${sign}directory=${encodeURIComponent(repository.folder)}`;
    const answer = await (await fetch(url, { headers, signal: AbortSignal.timeout(20_000) })).text();
    expect(answer, path).not.toContain("canary-outside");
  }
}

describeNeeding("a repository with plug-ins of OpenCode", { missing: missing("opencode") }, () => {
  test("not trusted: refused with what to do, and nothing of it runs", async () => {
    const opened = await open("opencode");
    const { client, env, repository } = opened;
    const refused = await client
      .create({ agent: "opencode", directory: repository.folder, env })
      .then(async (session) => errorsOf(await oneTurn(session, isAllowed)))
      .catch((error: unknown) => [error]);
    expect(refused).toEqual([
      expect.objectContaining({ code: "folder_not_trusted", message: expect.stringContaining("franca trust add") }),
    ]);
    await lookAround(opened);
    await stop(opened);
    expect(repository.ran()).toEqual([]);
    expect(existsSync(join(repository.folder, ".opencode", "node_modules"))).toBe(false);
  });
});

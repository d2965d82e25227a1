/** Folder trust: what it covers, who can grant it, how agents start then, and that git runs nothing of a folder. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { amp } from "../../src/adapters/amp/index.ts";
import { claude } from "../../src/adapters/claude/index.ts";
import { opencode } from "../../src/adapters/opencode/index.ts";
import type { FolderFacts } from "../../src/core/launch.ts";
import { git } from "../../src/runtime/git.ts";
import { openTrust } from "../../src/runtime/trust.ts";
import { franca, serve, startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { plainOptions } from "../support/launch-options.ts";

const repository = (...parts: string[]): string => {
  const folder = join(...parts);
  mkdirSync(join(folder, ".git"), { recursive: true });
  return folder;
};
const folder = (...parts: string[]): string => {
  mkdirSync(join(...parts), { recursive: true });
  return join(...parts);
};

test("trust holds for what lies below, but not for a git repository inside, nor through a link", () => {
  const home = realpathSync(temporaryFolder());
  const project = repository(home, "project");
  const below = folder(project, "src", "deep");
  const nested = repository(project, "vendor", "lib");
  const bare = folder(project, "evil");
  mkdirSync(join(bare, "objects"));
  writeFileSync(join(bare, "HEAD"), "ref: refs/heads/main\n");
  const beside = folder(home, "project-2");
  const trust = openTrust({ folder: null, configured: [] });
  expect(trust.isTrusted(project)).toBe(false);
  expect(trust.add(project, { force: true })).toBe(project);
  expect([project, below].map(trust.isTrusted)).toEqual([true, true]);
  expect([home, beside, nested, join(nested, "x"), bare].map(trust.isTrusted)).toEqual(Array(5).fill(false));
  symlinkSync(nested, join(project, "link"));
  expect(trust.isTrusted(join(project, "link"))).toBe(false);
  trust.add(nested, { force: true });
  expect(trust.isTrusted(join(project, "link"))).toBe(true);
  trust.remove(project);
  expect([project, nested].map(trust.isTrusted)).toEqual([false, true]);
  expect(() => trust.remove(project)).toThrow(/not in the list/);
});

test("the parent of repositories does not make them trusted", () => {
  const home = realpathSync(temporaryFolder());
  const cloned = repository(home, "work", "cloned");
  const trust = openTrust({ folder: null, configured: [join(home, "work")] });
  expect(trust.isTrusted(join(home, "work"))).toBe(true);
  expect(trust.isTrusted(cloned)).toBe(false);
});

test("folders of everybody are refused without force; what does not exist is 400", async () => {
  const { url, client } = await startDaemon({ trustedFolders: [] });
  for (const broad of ["/", homedir(), tmpdir(), mkdtempSync(join(tmpdir(), "franca-"))]) {
    await expect(client.addTrust(broad), broad).rejects.toMatchObject({ code: "invalid_request", status: 400 });
  }
  for (const missing of ["/no/such/folder", "/etc\0/x"]) {
    await expect(client.addTrust(missing)).rejects.toMatchObject({ code: "directory_not_found", status: 400 });
  }
  const wrong = await fetch(`${url}/v1/trust`, { method: "POST", body: '{"directory": 7}' });
  expect(wrong.status).toBe(400);
});

test("trust survives in the data folder, readable by its user only; a folder's own files grant nothing", async () => {
  const home = temporaryFolder();
  const project = realpathSync(folder(home, "project"));
  writeFileSync(join(project, "franca.config.json"), JSON.stringify({ trustedFolders: [project] }));
  writeFileSync(join(project, "trust.json"), JSON.stringify([project]));
  const inside = await franca(["trust", "list"], { home, cwd: project });
  expect(inside.stdout).toMatch(/No folder is trusted/);
  const added = await franca(["trust", "add", ".", "--force"], { home, cwd: project });
  expect([added.code, added.stdout]).toEqual([0, `Trusted: ${project}\n`]);
  const { url, token } = await serve({ home, args: ["--port", "0"] });
  const listed = await fetch(`${url}/v1/trust?directory=${project}`, { headers: { authorization: `Bearer ${token}` } });
  expect(await listed.json()).toEqual({ folders: [{ path: project, from: "person" }], trusted: true });
  const agent = await franca(["trust", "add", ".", "--force"], { home, cwd: project, env: { FRANCA_SESSION_ID: "s" } });
  expect(agent.code).toBe(1);
});

const facts = (given: Partial<FolderFacts>): FolderFacts => ({
  path: "/p",
  trusted: false,
  gitRoot: null,
  gitEnvironment: {},
  found: [],
  ...given,
});

test("in an untrusted folder agents start restricted, or are refused with what to do", () => {
  const args = (trusted: boolean) => {
    const launch = claude.launch({ ...plainOptions, folder: facts({ trusted }) });
    return launch.kind === "process" ? launch.args.join(" ") : launch;
  };
  expect(args(false)).toContain("--setting-sources user");
  expect(args(true)).not.toContain("--setting-sources");
  const refused = {
    kind: "refused",
    code: "folder_not_trusted",
    message: expect.stringContaining("franca trust add /p"),
  };
  expect(amp.launch({ ...plainOptions, folder: facts({}) })).toEqual(refused);
  const found = facts({ found: ["/p/.opencode"] });
  expect(opencode.launch({ ...plainOptions, folder: found })).toEqual(refused);
  expect(opencode.launch({ ...plainOptions, folder: facts({}) })).toMatchObject({
    env: { OPENCODE_DISABLE_PROJECT_CONFIG: "1", OPENCODE_CONFIG_CONTENT: '{"formatter":false,"lsp":false}' },
  });
  const running = { OPENCODE_SERVER_URL: "http://127.0.0.1:1" };
  expect(opencode.launch({ ...plainOptions, env: running, folder: facts({}) })).toEqual(refused);
});

test("files are served from sessions' directories and trusted ones only, and git runs in trusted ones only", async () => {
  const { url, client } = await startDaemon({ trustedFolders: [] });
  const project = realpathSync(folder(temporaryFolder(), "project"));
  writeFileSync(join(project, "secret.txt"), "canary");
  const marker = join(project, "ran");
  const run = (...words: string[]) => execFileSync("git", words, { cwd: project, stdio: "pipe" });
  run("init", "-q");
  run("config", "core.fsmonitor", `touch ${marker}; false`);
  const ask = async (path: string) =>
    fetch(`${url}/opencode${path}${path.includes("?") ? "&" : "?"}directory=${project}`);
  const routes = [
    ...["/file?path=.", "/file/content?path=secret.txt", "/find?pattern=canary", "/find/file?query=secret"],
    ...["/api/fs/list", "/api/fs/find?query=secret", "/api/fs/read/secret.txt"],
  ];
  for (const route of routes) {
    const answer = await ask(route);
    expect([route, answer.status]).toEqual([route, 403]);
    expect(await answer.text()).not.toContain("canary");
  }
  for (const route of ["/file/status", "/vcs/status", "/vcs", "/project/current"]) await (await ask(route)).text();
  expect(existsSync(marker)).toBe(false);
  await client.create({ agent: "mock", directory: project });
  expect((await ask("/file/content?path=secret.txt")).status).toBe(200);
  await (await ask("/file/status")).text();
  expect(existsSync(marker)).toBe(false);
});

test("git runs none of the programs that a repository's configuration names, whatever they are called", async () => {
  const project = realpathSync(temporaryFolder());
  const run = (...words: string[]) => execFileSync("git", words, { cwd: project, stdio: "pipe" });
  run("init", "-q", "-b", "main");
  run("config", "user.email", "a@example.com");
  run("config", "user.name", "a");
  writeFileSync(join(project, "file.txt"), "one\n");
  run("add", ".");
  run("commit", "-qm", "first");
  const trap = (name: string): string => {
    const program = join(project, ".git", `trap-${name}.sh`);
    writeFileSync(program, `#!/bin/sh\ntouch ${join(project, ".git", `ran-${name}`)}\ncat\n`);
    chmodSync(program, 0o755);
    return program;
  };
  writeFileSync(join(project, ".gitattributes"), "* filter=evil\nfile.txt diff=evil\n*.x filter=a=b\n");
  run("config", "filter.evil.clean", trap("clean"));
  run("config", "filter.evil.required", "true");
  run("config", "filter.a=b.clean", trap("odd"));
  run("config", "diff.evil.textconv", trap("textconv"));
  run("config", "diff.evil.command", trap("command"));
  run("config", "diff.external", trap("external"));
  run("config", "core.fsmonitor", trap("fsmonitor"));
  run("config", "core.hooksPath", join(project, ".git"));
  writeFileSync(join(project, "file.txt"), "two\n");
  writeFileSync(join(project, "new.x"), "x\n");
  expect(await git(project, ["diff", "--no-ext-diff", "--no-textconv", "--numstat", "HEAD"])).toEqual([
    expect.stringMatching(/^\d+\t\d+\tfile\.txt$/),
  ]);
  await git(project, ["status", "--porcelain"]);
  await git(project, ["ls-files", "--others", "--exclude-standard"]);
  const names = ["clean", "odd", "textconv", "command", "external", "fsmonitor"];
  expect(names.filter((name) => existsSync(join(project, ".git", `ran-${name}`)))).toEqual([]);
  // The traps work: without our settings they do run.
  run("status", "--porcelain");
  expect(names.some((name) => existsSync(join(project, ".git", `ran-${name}`)))).toBe(true);
});

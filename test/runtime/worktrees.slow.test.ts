/** Worktrees of sessions: made without running anything of the repository, shown, diffed, and removed with care. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DaemonOptions } from "../../src/server/compose.ts";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
const git = (cwd: string, ...args: string[]): string =>
  execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

function repository(): string {
  const folder = join(temporaryFolder(), "project");
  mkdirSync(join(folder, "sub"), { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch", "main");
  writeFileSync(join(folder, "one.txt"), "one\ntwo\n");
  writeFileSync(join(folder, "sub", "two.txt"), "two\n");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "-m", "first");
  return folder;
}

const start = (options: Partial<DaemonOptions> = {}) =>
  startDaemon({ data: join(temporaryFolder(), "data"), store: "sqlite", trustedFolders: [], ...options });

test("two sessions on one repository work apart; each shows what it changed", async () => {
  const folder = repository();
  const { client } = await start();
  const one = await client.create({ id: "one", agent: "mock", directory: join(folder, "sub"), worktree: true });
  const two = await client.create({ id: "two", agent: "mock", directory: folder, worktree: "topic/two" });
  const { worktree, directory } = await one.get();
  expect(worktree).toEqual(one.created.worktree);
  expect(worktree).toMatchObject({ repository: folder, branch: expect.stringMatching(/^franca\/[0-9a-f]{8}$/) });
  const path = worktree?.path ?? "";
  expect(directory).toBe(join(path, "sub"));
  const other = (await two.get()).worktree?.path ?? "";
  expect(git(other, "branch", "--show-current").trim()).toBe("topic/two");

  writeFileSync(join(path, "one.txt"), "one\n2\n");
  git(path, "commit", "--quiet", "-am", "second");
  writeFileSync(join(path, "new file.txt"), "a\nb\nc\n");
  writeFileSync(join(other, "one.txt"), "");
  const diff = await one.diff();
  expect(diff).toMatchObject({ source: "worktree", base: worktree?.base, truncated: false });
  expect(diff.files).toEqual([
    { path: "one.txt", status: "modified", added: 1, removed: 1 },
    { path: "new file.txt", status: "added", added: 3, removed: 0 },
  ]);
  // What is shown can be applied elsewhere.
  execFileSync("git", ["apply"], { cwd: folder, input: diff.diff });
  expect(readFileSync(join(folder, "new file.txt"), "utf8")).toBe("a\nb\nc\n");
  expect(readFileSync(join(folder, "one.txt"), "utf8")).toBe("one\n2\n");
  expect((await two.diff()).files).toEqual([{ path: "one.txt", status: "modified", added: 0, removed: 2 }]);
  const listed = await client.worktrees();
  expect(listed.map(({ sessionId, commits, files }) => [sessionId, commits, files.length])).toEqual([
    ["one", 1, 2],
    ["two", 0, 1],
  ]);
});

test("removing one lists its changes, refuses to lose work without force, and keeps commits", async () => {
  const folder = repository();
  const { client } = await start();
  for (const id of ["clean", "dirty", "committed"]) {
    await client.create({ id, agent: "mock", directory: folder, worktree: `w/${id}` });
  }
  const paths = new Map((await client.worktrees()).map(({ sessionId, path }) => [sessionId, path]));
  writeFileSync(join(paths.get("dirty") ?? "", "x.txt"), "x\n");
  writeFileSync(join(paths.get("committed") ?? "", "one.txt"), "changed\n");
  git(paths.get("committed") ?? "", "commit", "--quiet", "-am", "work");
  expect(await client.removeWorktree("clean")).toMatchObject({ branchKept: false, files: [], commits: 0 });
  await expect(client.removeWorktree("dirty")).rejects.toMatchObject({ code: "worktree_changed" });
  // Also after its session is gone.
  await client.session("dirty").delete();
  expect(existsSync(paths.get("dirty") ?? "")).toBe(true);
  expect(await client.removeWorktree("dirty", { force: true })).toMatchObject({ files: [{ path: "x.txt" }] });
  expect(await client.removeWorktree("committed")).toMatchObject({ branchKept: true, commits: 1 });
  for (const path of paths.values()) expect(existsSync(path)).toBe(false);
  expect(git(folder, "branch", "--format", "%(refname:short)").trim().split("\n")).toEqual(["main", "w/committed"]);
  expect(git(folder, "worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
  await expect(client.removeWorktree("clean")).rejects.toMatchObject({ code: "worktree_not_found" });
});

test("a hostile repository runs nothing when a worktree of it is made, shown and removed", async () => {
  const folder = repository();
  const ran = join(temporaryFolder(), "ran");
  const program = join(temporaryFolder(), "program.sh");
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat\n`);
  chmodSync(program, 0o755);
  writeFileSync(join(folder, ".gitattributes"), "*.txt filter=evil diff=evil\n");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "-m", "attributes");
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change"]) {
    writeFileSync(join(folder, ".git", "hooks", hook), `#!/bin/sh\n${program} hook\n`, { mode: 0o755 });
  }
  for (const [key, value] of [
    ["filter.evil.smudge", program],
    ["filter.evil.clean", program],
    ["filter.evil.process", program],
    ["filter.evil.required", "true"],
    ["diff.evil.command", program],
    ["diff.evil.textconv", program],
    ["core.fsmonitor", program],
    ["core.pager", program],
    ["core.sshCommand", program],
  ] as const) {
    git(folder, "config", key, value);
  }
  // The trap works: git itself obeys it.
  spawnSync("git", ["worktree", "add", "--quiet", join(temporaryFolder(), "trapped")], { cwd: folder });
  expect(existsSync(ran)).toBe(true);
  writeFileSync(ran, "");

  const { client } = await start();
  const session = await client.create({ id: "hostile", agent: "mock", directory: folder, worktree: true });
  const path = session.created.worktree?.path ?? "";
  writeFileSync(join(path, "one.txt"), "changed\n");
  writeFileSync(join(path, "fresh.txt"), "fresh\n");
  expect((await session.diff()).files).toHaveLength(2);
  await client.removeWorktree("hostile", { force: true });
  expect(readFileSync(ran, "utf8")).toBe("");

  // More drivers than are looked at: git is not used there at all.
  const many = Array.from({ length: 600 }, (_, index) => `[filter "f${index}"]\n\tsmudge = ${program}\n`).join("");
  writeFileSync(join(folder, ".git", "config"), readFileSync(join(folder, ".git", "config"), "utf8") + many);
  await expect(client.create({ id: "many", agent: "mock", directory: folder, worktree: true })).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(readFileSync(ran, "utf8")).toBe("");
});

test("trust follows the repository, and a folder that claims to be a worktree of it gains nothing", async () => {
  const folder = repository();
  const { client, sessions } = await start({ trustedFolders: [folder] });
  const session = await client.create({ id: "trusted", agent: "mock", directory: folder, worktree: true });
  const path = session.created.worktree?.path ?? "";
  expect(sessions.trust.isTrusted(path)).toBe(true);
  expect((await session.get()).trusted).toBe(true);
  const liar = join(temporaryFolder(), "liar");
  mkdirSync(liar);
  writeFileSync(join(liar, ".git"), readFileSync(join(path, ".git"), "utf8"));
  expect(sessions.trust.isTrusted(liar)).toBe(false);
  const strange = await start();
  const restricted = await strange.client.create({ id: "r", agent: "mock", directory: folder, worktree: true });
  expect(strange.sessions.trust.isTrusted(restricted.created.worktree?.path ?? "")).toBe(false);
});

test("wrong requests leave nothing behind", async () => {
  const folder = repository();
  const plain = temporaryFolder();
  const empty = join(temporaryFolder(), "empty");
  mkdirSync(empty);
  git(empty, "init", "--quiet");
  const { client } = await start();
  const refused: readonly [object, string][] = [
    [{ directory: plain, worktree: true }, "no git repository"],
    [{ directory: empty, worktree: true }, "no commit yet"],
    [{ directory: folder, worktree: "--upload-pack=x" }, "branch"],
    [{ directory: folder, worktree: "a b" }, "branch"],
    [{ directory: folder, worktree: "a..b" }, "git made no worktree"],
    [{ directory: folder, worktree: "main" }, "git made no worktree"],
    [{ directory: folder, worktree: true, nativeSessionId: "mine" }, "continues where"],
  ];
  for (const [options, message] of refused) {
    await expect(client.create({ id: "wrong", agent: "mock", ...options })).rejects.toThrow(message);
  }
  expect(await client.worktrees()).toEqual([]);
  expect(git(folder, "worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
  await client.create({ id: "taken", agent: "mock", directory: folder });
  await expect(client.create({ id: "taken", agent: "mock", directory: folder, worktree: true })).rejects.toMatchObject({
    code: "session_already_exists",
  });
  expect(await client.worktrees()).toEqual([]);
  // Without a worktree: by git where the folder is trusted, else as the agent reported it.
  expect(await client.session("taken").diff()).toMatchObject({ source: "events", base: null, files: [] });
  await expect(client.session("nobody").diff()).rejects.toMatchObject({ code: "session_not_found" });
  await client.addTrust(folder, { force: true });
  writeFileSync(join(folder, "one.txt"), "");
  expect(await client.session("taken").diff()).toMatchObject({
    source: "folder",
    files: [{ path: "one.txt", status: "modified", added: 0, removed: 2 }],
  });
});

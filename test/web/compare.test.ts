/** A comparison in the inspector: sessions of one prompt side by side while they work, and one of them kept. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { comparisonMetadata } from "../../src/protocol/comparison.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { expectNoComplaints, findings, newPage, type Opened, PHONE, startWebDaemon } from "../support/inspector.ts";

const README = "# A project\n\nport: 80\n";

function repository(folder: string): string {
  const path = join(folder, "project");
  mkdirSync(path);
  writeFileSync(join(path, "README.md"), README);
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    [...identity, "commit", "-q", "-m", "first"],
  ]) {
    execFileSync("git", args, { cwd: path });
  }
  return path;
}

const ANSWER = [
  "echo The port is read from `listen` now; `port` still works and warns once.",
  "",
  "- **config**: the new name, the old one as an alias",
  "- **README**: the new name",
].join("\n");

/** Three sessions as `franca compare` makes them: one that is done, one at work, one that fails. */
async function compared({ client, directory }: TestDaemon): Promise<Record<"claude" | "codex" | "mock", string>> {
  const project = repository(directory);
  const make = async (name: string, position: number): Promise<string> => {
    const metadata = comparisonMetadata({ id: "race", name, position });
    const made = await client.create({ id: `id-${name}`, agent: "mock", directory: project, worktree: true, metadata });
    return made.created.worktree?.path ?? "";
  };
  const folders = { claude: await make("claude=opus", 0), codex: await make("codex", 1), mock: await make("mock", 2) };
  writeFileSync(join(folders.claude, "README.md"), README.replace("port", "listen"));
  writeFileSync(join(folders.claude, "config.ts"), "export const listen = 80;\nexport const port = listen;\n");
  writeFileSync(join(folders.codex, "README.md"), README.replace("port", "address"));
  for await (const event of client.session("id-claude=opus").ask(ANSWER)) if (event.type === "turn.ended") break;
  await client.session("id-codex").prompt("hang");
  for await (const event of client.session("id-mock").ask("crash")) if (event.type === "turn.ended") break;
  return folders;
}

/** By the link that the command prints. */
async function openComparison({ url, client }: TestDaemon, options: BrowserContextOptions): Promise<Opened> {
  const opened = await newPage(options);
  const { code } = await client.makeLoginCode();
  await opened.page.goto(`${url}/#code=${code}&to=${encodeURIComponent("/compare/race")}`);
  return opened;
}

const column = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

async function expectSideBySide({ page }: Opened): Promise<void> {
  await page.getByText("1 of 3 running").waitFor();
  const claude = column(page, "claude=opus");
  await claude.getByText("Completed").waitFor();
  await claude.getByText("2 files changed").waitFor();
  await claude.locator(".answer strong", { hasText: "config" }).waitFor();
  await claude.getByText(/\d+ in, \d+ out/).waitFor();
  await column(page, "codex").getByText("1 file changed").waitFor();
  await column(page, "mock").getByText("Error", { exact: true }).waitFor();
  // One that failed is not the fastest, and one alone is not either.
  expect(await page.locator(".best").count()).toBe(0);
  // Nobody is removed who is still at work.
  expect(await claude.getByRole("button", { name: "Keep this one" }).isDisabled()).toBe(true);
  await claude.getByRole("button", { name: /README\.md/ }).click();
  await claude.locator(".diff .d", { hasText: "port: 80" }).waitFor();
  await claude.locator(".diff .a", { hasText: "listen: 80" }).waitFor();
  expect(await claude.locator(".diff .lines > div").count()).toBe(5);
}

test.each(["light", "dark"] as const)("%s: results side by side, live, and one is kept", async (colorScheme) => {
  const daemon = await startWebDaemon();
  const { client, url } = daemon;
  const folders = await compared(daemon);
  const opened = await openComparison(daemon, { colorScheme });
  const { page } = opened;
  await expectSideBySide(opened);
  expect(await findings(page)).toEqual([]);

  writeFileSync(join(folders.codex, "more.txt"), "one\n");
  await client.session("id-codex").abort();
  await page.getByText("Done", { exact: true }).waitFor();
  await column(page, "codex").getByText("Stopped").waitFor();
  await column(page, "codex").getByText("2 files changed").waitFor();
  page.once("dialog", (dialog) => void dialog.dismiss());
  const keep = column(page, "claude=opus").getByRole("button", { name: "Keep this one" });
  await keep.click();
  expect(await client.worktrees()).toHaveLength(3);
  const asked: string[] = [];
  page.once("dialog", (dialog) => {
    asked.push(dialog.message());
    void dialog.accept();
  });
  await keep.click();
  await column(page, "claude=opus").getByText("Kept.").waitFor();
  expect(asked).toEqual([expect.stringContaining("remove the worktrees of codex, mock")]);
  expect(await page.getByText("Its worktree was removed.").count()).toBe(2);
  expect(Object.values(folders).map(existsSync)).toEqual([true, false, false]);
  expect(await findings(page)).toEqual([]);
  await column(page, "codex").getByRole("link", { name: "Open the session" }).click();
  await page.getByRole("link", { name: "Comparison" }).click();
  await column(page, "codex").waitFor();
  await expectNoComplaints(opened, url);
});

test("on a phone the results stand below one another; an unknown comparison is said as such", async () => {
  const daemon = await startWebDaemon();
  await compared(daemon);
  const opened = await openComparison(daemon, PHONE);
  const { page } = opened;
  await expectSideBySide(opened);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  const [first, second] = [await column(page, "claude=opus").boundingBox(), await column(page, "codex").boundingBox()];
  expect((second?.y ?? 0) > (first?.y ?? 0) + (first?.height ?? 0)).toBe(true);
  const box = await column(page, "claude=opus").getByRole("button", { name: "Keep this one" }).boundingBox();
  expect(box === null ? 0 : box.height).toBeGreaterThanOrEqual(44);
  expect(await findings(page)).toEqual([]);
  await page.evaluate(`location.hash = "/compare/nothing"`);
  await page.getByText("There is no such comparison").waitFor();
  expect(opened.complaints).toEqual([]);
});

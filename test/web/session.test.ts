/** A session in the page: login, prompt, streamed answer, permission, question, abort, fork. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { drop, expectNoComplaints, newPage, openInspector, startWebDaemon, until } from "../support/inspector.ts";
import { root } from "../support/transcripts.ts";

const COMMAND =
  'npm ci --ignore-scripts && npm test -- --run test/config.test.ts test/server.test.ts --reporter=dot && git add -A src test README.md && git commit -m "config: rename port to listen && keep port" && echo the-very-end';

test("a code logs in once; a prompt streams its answer and says how the turn ended", async () => {
  const daemon = await startWebDaemon();
  const { client, url, directory } = daemon;
  await client.create({ id: "one", agent: "mock", directory, title: "First session" });
  const opened = await openInspector(daemon);
  const { page } = opened;
  expect(page.url()).not.toContain("code=");
  await page.getByRole("link", { name: /First session/ }).click();
  await page.getByLabel("Prompt").fill("long 1.5");
  await page.keyboard.press("Enter");
  // It streams: the first part is there while the turn runs.
  await page.locator(".say", { hasText: "1 s" }).waitFor();
  await page.locator(".end", { hasText: "Completed, by the agent’s signal" }).waitFor();
  await page.getByLabel("Prompt").fill("echo **bold** `code`");
  await page.keyboard.press("Enter");
  await page.locator(".say strong", { hasText: "bold" }).waitFor();
  expect(await page.locator(".you").count()).toBe(2);
  await expectNoComplaints(opened, url);
  await page.reload();
  await page.locator(".say strong", { hasText: "bold" }).waitFor();
  const stranger = await openInspector(daemon);
  await stranger.page.evaluate(`sessionStorage.clear()`);
  expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
});

test("a long command is shown whole, Enter and Space allow nothing, and its keys answer", async () => {
  const daemon = await startWebDaemon();
  const { client, directory } = daemon;
  const session = await client.create({ id: "asking", agent: "mock", directory });
  const opened = await openInspector(daemon, "/s/asking");
  const { page } = opened;
  await session.prompt(`permission ${COMMAND}`);
  const card = page.getByRole("region", { name: "Run this command?" });
  await card.waitFor();
  await until(page, `document.title === "(1) Franca"`);
  const words = (text: string): string => text.replaceAll(/\s+/g, "");
  expect(words(await card.locator("[data-command]").innerText())).toContain(words(COMMAND));
  await card.getByText("nothing is ever allowed by default").waitFor();
  await card.getByText("exactly this command, in this session").waitFor();
  for (const name of [/Allow once/, /^Always/, /^Reject R/]) {
    const box = await card.getByRole("button", { name }).boundingBox();
    expect(box !== null && box.y + box.height <= 900).toBe(true);
  }
  await page.locator(".flow").click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("!");
  await until(page, `document.activeElement?.matches("[data-card]") === true`);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Space");
  await page.keyboard.press("q");
  expect((await session.get()).pendingPermissions).toHaveLength(1);
  await page.keyboard.press("a");
  // The change after it is a diff, and it is rejected with words.
  const edit = page.getByRole("region", { name: "Edit CHANGELOG.md?" });
  await edit.locator(".diff .a", { hasText: "- All tests pass." }).waitFor();
  await edit.getByRole("button", { name: /with a message/ }).click();
  await edit.getByLabel("Why it is rejected").fill("not today");
  await page.keyboard.press("Enter");
  await page.locator(".say", { hasText: "edit was rejected" }).waitFor();
  expect(await page.locator("[data-card]").count()).toBe(0);
  await page.locator(".answered", { hasText: "You: allowed once" }).waitFor();
  await until(page, `document.title === "Franca"`);
  expect(opened.complaints).toEqual([]);
});

test("a permission shows its change as a diff: sign, number and colour of each line", async () => {
  const daemon = await startWebDaemon();
  const { page } = await newPage();
  await page.goto(`${daemon.url}/`);
  await page.getByText("This page is not logged in.").waitFor();
  // A recording that breaks off where the agent asks: one line replaced, one added, one kept.
  const lines = readFileSync(join(root, "transcripts", "mock", "permission-once", "native.jsonl"), "utf8").split("\n");
  const asks = lines.findIndex((line) => line.includes('"action":"edit"'));
  const change = { old_string: "keep\nport: 80\n", new_string: "keep\nlisten: 8080\nhost: local\n" };
  const text = lines
    .slice(0, asks + 1)
    .join("\n")
    .replaceAll(/"old_string":"[^"]*","new_string":"[^"]*"/g, () => JSON.stringify(change).slice(1, -1));
  await drop(page, { name: "asking.jsonl", text });
  await page.getByRole("button", { name: "Conversation", exact: true }).first().click();
  const card = page.getByRole("region", { name: "Edit CHANGELOG.md?" });
  // The recording's end closed the request: a few moments earlier it is open.
  await page.locator(".end").waitFor();
  await page.getByRole("slider").focus();
  for (let moment = 0; moment < 10 && (await card.count()) === 0; moment += 1) await page.keyboard.press("ArrowLeft");
  await card.locator(".diff .d", { hasText: "port: 80" }).waitFor();
  const seen: unknown = await page.evaluate(`[...document.querySelectorAll("[data-card] .diff .lines > div:not(.h)")]
    .map((line) => ({
      tint: getComputedStyle(line).backgroundColor,
      numbers: [...line.querySelectorAll("i")].map((one) => one.textContent),
      sign: line.querySelector("u").textContent,
      text: line.querySelector("span").textContent,
    }))`);
  const line = { tint: z.string(), numbers: z.array(z.string()), sign: z.string(), text: z.string() };
  const shown = z.array(z.object(line)).parse(seen);
  expect(shown.map(({ numbers, sign, text: words }) => [...numbers, sign, words])).toEqual([
    ["1", "1", "", "keep"],
    ["2", "", "-", "port: 80"],
    ["", "2", "+", "listen: 8080"],
    ["", "3", "+", "host: local"],
  ]);
  const [same, removed, added, alsoAdded] = shown.map(({ tint }) => tint);
  expect(new Set([same, removed, added]).size).toBe(3);
  expect(alsoAdded).toBe(added);
});

test("questions are answered by number and in the same place", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "quiz", agent: "mock", directory: daemon.directory });
  const { page } = await openInspector(daemon, "/s/quiz");
  await session.prompt("question");
  const card = page.getByRole("region", { name: "The agent asks" });
  await card.getByRole("button", { name: /TypeScript/ }).click();
  await card.getByRole("button", { name: /Lint/ }).click();
  await card.getByRole("button", { name: /Tests/ }).click();
  await card.getByRole("button", { name: /Answer/ }).click();
  await page.locator(".say", { hasText: "You chose: TypeScript; Lint and Tests." }).waitFor();
});

test("stop ends the turn; a fork is a session of its own", async () => {
  const daemon = await startWebDaemon();
  const { client, directory } = daemon;
  const session = await client.create({ id: "stopped", agent: "mock", directory, title: "To be stopped" });
  const { page } = await openInspector(daemon, "/s/stopped");
  await session.prompt("hang");
  await page.getByRole("button", { name: /^Stop/ }).click();
  await page.locator(".end", { hasText: "Stopped, by you" }).waitFor();
  await page.getByRole("button", { name: "Session", exact: true }).click();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await until(page, `!location.hash.startsWith("#/s/stopped")`);
  expect(await client.sessions()).toHaveLength(2);
});

test("a new session is made with its folder's trust in sight, renamed and deleted", async () => {
  const daemon = await startWebDaemon();
  const { client, directory } = daemon;
  const { page } = await openInspector(daemon, "/new");
  await page.getByRole("button", { name: "Mock", exact: true }).click();
  await page.getByLabel("Folder").fill(directory);
  await page.getByText("Trusted: its settings and hooks are used.").waitFor();
  await page.getByLabel("Prompt").fill("echo made here");
  await page.getByRole("button", { name: /Start/ }).click();
  await page.locator(".say", { hasText: "made here" }).waitFor();
  await page.locator(".head h1 button").click();
  await page.getByLabel("Title of the session").fill("A better name");
  await page.keyboard.press("Enter");
  await page.locator(".srow", { hasText: "A better name" }).waitFor();
  page.on("dialog", (dialog) => void dialog.accept());
  await page.getByRole("button", { name: "Session", exact: true }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByText("No sessions yet.").waitFor();
  expect(await client.sessions()).toEqual([]);
});

test("files go along with a prompt; what is too large is refused in words", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "files", agent: "mock", directory: daemon.directory });
  const { page } = await openInspector(daemon, "/s/files");
  const choose = (name: string, buffer: Buffer): Promise<void> =>
    page.locator('.composer input[type="file"]').setInputFiles({ name, mimeType: "text/plain", buffer });
  await choose("notes.txt", Buffer.from("some notes"));
  await page.locator(".attachments", { hasText: "notes.txt" }).waitFor();
  await page.getByLabel("Prompt").fill("echo with a file");
  await page.keyboard.press("Enter");
  await page.locator(".you .attached").waitFor();
  const item = (await session.get()).items.find(({ role }) => role === "user");
  expect(JSON.stringify(item)).toContain(".txt");
  await choose("huge.bin", Buffer.alloc(12 * 1024 * 1024));
  await page.locator(".attachments", { hasText: "huge.bin" }).waitFor();
  await page.getByLabel("Prompt").fill("echo too much");
  await page.keyboard.press("Enter");
  await page.locator(".banner.problem", { hasText: /larger|large|bytes/i }).waitFor();
});

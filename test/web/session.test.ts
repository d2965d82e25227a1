/** A session in the page: login, prompt, streamed answer, permission, question, abort, fork. */
import { expect, test } from "vitest";
import { expectNoComplaints, openInspector, startWebDaemon, until } from "../support/inspector.ts";

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

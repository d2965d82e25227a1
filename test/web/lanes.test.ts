/** Lanes: aligned by cause, scrubbed, searched, with 100,000 events, and without a daemon. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { franca, program } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { drop, newPage, openInspector, PATIENCE_MS, startWebDaemon, until } from "../support/inspector.ts";
import { root } from "../support/transcripts.ts";

const REFERENCE = join(root, "transcripts", "claude", "read-edit-partial", "native.jsonl");

test("a recording dropped on a page that is not logged in is aligned by cause, and shows the past", async () => {
  const daemon = await startWebDaemon();
  const { page, requests, complaints } = await newPage();
  await page.goto(`${daemon.url}/`);
  await page.getByText("This page is not logged in.").waitFor();
  const asked = requests.length;
  await drop(page, { name: "read-edit.jsonl", text: readFileSync(REFERENCE, "utf8") });
  await page.getByRole("grid", { name: "Lanes" }).waitFor();
  await page.locator(".lr .ev", { hasText: "turn.started" }).first().waitFor();
  // The line that ended the turn, its event, and what both clients were sent stand in one row.
  await page.getByLabel("Search events").fill("turn.ended");
  const row = page.locator(".lr:not(.lh):not(.turn)", { hasText: "turn.ended" });
  await row.waitFor();
  const text = await row.textContent();
  for (const part of ["result", "turn.ended", "session.idle", "completed"]) expect(text).toContain(part);
  await row.locator(".ev", { hasText: "turn.ended" }).click();
  await page.getByText("The agent said that it was done, and no tool call was open.").waitFor();
  await page.getByRole("button", { name: "OpenCode", exact: true }).click();
  await page.locator(".detail .json", { hasText: "session.idle" }).waitFor();
  await page.getByLabel("Search events").fill("");
  // The middle of the session, in the conversation.
  const track = page.getByRole("slider");
  const box = await track.boundingBox();
  if (box === null) throw new Error("There is no scrubber.");
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.getByRole("button", { name: "Conversation", exact: true }).first().click();
  await page.locator(".pill", { hasText: /as it was at \d+ of \d+/ }).waitFor();
  expect(await page.locator(".end").count()).toBe(0);
  await page.getByRole("button", { name: "To the end" }).click();
  await page.locator(".end", { hasText: "Completed" }).waitFor();
  expect(complaints.filter((one) => !one.includes("401"))).toEqual([]);
  // Only code of the page itself was loaded: the recording went nowhere.
  expect(requests.slice(asked).filter((url) => !url.startsWith(`${daemon.url}/assets/`))).toEqual([]);
});

test("100,000 events: opened at the end, all of them in the lanes, few of them in the page", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "flood", agent: "mock", directory: daemon.directory });
  for await (const event of session.ask("flood 100000")) if (event.type === "turn.ended") break;
  const { page, complaints } = await openInspector(daemon, "/s/flood");
  await page.locator(".end", { hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Lanes", exact: true }).first().click();
  await page.locator(".chip", { hasText: /All 100,0\d\d/ }).waitFor({ timeout: 4 * PATIENCE_MS });
  await page.getByRole("button", { name: "Fold deltas" }).click();
  await until(page, `Number(document.querySelector('[role="grid"]')?.getAttribute("aria-rowcount")) > 99_000`);
  await page.evaluate(
    `(() => { const lanes = document.querySelector(".lanes"); lanes.scrollTo({ top: lanes.scrollHeight / 2 }); })()`,
  );
  await until(
    page,
    `(() => {
    const shown = document.querySelectorAll('.lanes [role="row"]');
    const middle = Number(shown[Math.floor(shown.length / 2)]?.getAttribute("aria-rowindex"));
    return middle > 40_000 && middle < 60_000;
  })()`,
  );
  expect(await page.locator('.lanes [role="row"]').count()).toBeLessThan(200);
  expect(complaints).toEqual([]);
});

test("franca lanes --html is this page with the recording inside, and asks nothing of anybody", async () => {
  const home = temporaryFolder();
  const file = join(home, "turn.html");
  const ran = await franca(["lanes", "--html", file, REFERENCE], { home, executable: program });
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("turn.html")]);
  const { page, requests, complaints } = await newPage();
  await page.goto(`file://${file}`);
  await page.locator(".lr .ev", { hasText: "turn.ended" }).first().waitFor();
  // Its own modules have addresses too, which lead nowhere but into the page.
  expect(requests.filter((url) => !/^(data|blob):/.test(url))).toEqual([`file://${file}`]);
  expect(complaints).toEqual([]);
});

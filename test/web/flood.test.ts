/** A long answer while the page is open: what was drawn is left alone, and what waits is seen from another tab. */
import { expect, test } from "vitest";
import { openInspector, startWebDaemon, until } from "../support/inspector.ts";

/** Counts changes inside blocks that were complete before, and how many blocks there were. */
const WATCH = `(() => {
  const complete = new Set();
  window.seen = { late: 0, changes: 0 };
  new MutationObserver((records) => {
    for (const { target } of records) {
      const element = target instanceof Element ? target : target.parentElement;
      const block = element?.closest(".block");
      if (block === null || block === undefined || block.closest(".say") === null) continue;
      window.seen.changes += 1;
      if (complete.has(block)) window.seen.late += 1;
    }
    for (const block of document.querySelectorAll(".say .block:has(+ .block)")) complete.add(block);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
})()`;

const DELTAS = 20_000;

test("each block of a long answer is drawn once, also when the answer is complete", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "flood", agent: "mock", directory: daemon.directory });
  const { page, complaints } = await openInspector(daemon, "/s/flood");
  await page.getByText("No prompt yet.").waitFor();
  await page.evaluate(WATCH);
  await session.prompt(`flood ${DELTAS}`);
  await page.getByLabel("Prompt").pressSequentially("typed meanwhile");
  await page.locator(".end", { hasText: "Completed" }).waitFor();
  expect(await page.getByLabel("Prompt").inputValue()).toBe("typed meanwhile");
  // Counted in the page: a difference in a text of this length helps nobody.
  const numbers = `document.querySelector(".say .md").textContent.trim().split(/\\s+/)`;
  expect(await page.evaluate(`${numbers}.length`)).toBe(DELTAS);
  expect(await page.evaluate(`${numbers}.every((word, index) => word === "#" + (index + 1))`)).toBe(true);
  expect(await page.locator(".say .block").count()).toBeGreaterThan(20);
  const seen = await page.evaluate("window.seen");
  expect(seen).toEqual({ late: 0, changes: expect.any(Number) });
  expect(seen).not.toMatchObject({ changes: 0 });
  expect(complaints).toEqual([]);
});

/** As a browser treats a tab that is not looked at: frames that were asked for never come. */
const HIDE = `(() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  window.requestAnimationFrame = () => 0;
  document.dispatchEvent(new Event("visibilitychange"));
})()`;

test("a request that comes while another tab is in front is in the title of this one", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "behind", agent: "mock", directory: daemon.directory });
  const { page } = await openInspector(daemon, "/s/behind");
  await page.getByText("No prompt yet.").waitFor();
  // A frame is asked for, and the page is hidden before it comes.
  await page.evaluate(`window.requestAnimationFrame = () => { window.isAsked = true; return 0; }`);
  await session.prompt("permission rm -rf build");
  await until(page, "window.isAsked === true");
  await page.evaluate(HIDE);
  await until(page, `document.title === "(1) Franca"`);
});

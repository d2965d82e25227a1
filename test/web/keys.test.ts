/** The keyboard in a conversation, and the queue. */
import { expect, test } from "vitest";
import { openInspector, startWebDaemon, until } from "../support/inspector.ts";

const FOCUSED = `document.activeElement?.closest("[data-entry]")?.dataset.entry ?? null`;

test("J and K go from entry to entry, E opens all, W shows why in the lanes, and ? lists them", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "keys", agent: "mock", directory: daemon.directory });
  for (const prompt of ["reasoning", "tool"]) {
    for await (const event of session.ask(prompt)) if (event.type === "turn.ended") break;
  }
  const { page, complaints } = await openInspector(daemon, "/s/keys");
  await page.locator(".end").nth(1).waitFor();
  const entries = page.locator(".flow [data-entry]");
  const keys: unknown[] = [];
  const total = await entries.count();
  for (let index = 0; index < total; index += 1) {
    await page.keyboard.press("j");
    keys.push(await page.evaluate(FOCUSED));
  }
  expect(new Set(keys)).toHaveLength(total);
  expect(keys).not.toContain(null);
  await page.keyboard.press("j");
  expect(await page.evaluate(FOCUSED)).toBe(keys.at(-1));
  await page.keyboard.press("k");
  expect(await page.evaluate(FOCUSED)).toBe(keys.at(-2));

  const folded = page.locator('.flow [aria-expanded="false"]');
  expect(await folded.count()).toBeGreaterThan(1);
  await page.keyboard.press("e");
  await until(page, `document.querySelectorAll('.flow [aria-expanded="false"]').length === 0`);
  await page.locator(".thinking").first().waitFor();
  await page.keyboard.press("e");
  await until(page, `document.querySelectorAll('.flow [aria-expanded="true"]').length === 0`);

  // Letters are text while one types.
  await page.getByLabel("Prompt").fill("");
  await page.keyboard.type("jkew");
  expect(await page.getByLabel("Prompt").inputValue()).toBe("jkew");
  await page.keyboard.press("Escape");

  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  for (const key of ["J K", "E", "W"])
    await dialog
      .locator("kbd", { hasText: new RegExp(`^${key}$`) })
      .first()
      .waitFor();
  await page.keyboard.press("Escape");

  await page.locator("button.tool").first().focus();
  await page.keyboard.press("w");
  await until(page, `location.hash === "#/s/keys/lanes"`);
  await page.locator(".ev.on", { hasText: "item.started" }).first().waitFor();
  expect(complaints).toEqual([]);
});

test("a prompt that waits is removed from the queue, and the others run", async () => {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "queue", agent: "mock", directory: daemon.directory });
  const { page, complaints } = await openInspector(daemon, "/s/queue");
  await session.prompt("hang");
  await session.prompt("echo unwanted");
  await session.prompt("echo wanted");
  await page.locator(".queued", { hasText: "echo wanted" }).waitFor();
  await page.getByRole("button", { name: "Remove from the queue: echo unwanted" }).click();
  await page.locator(".queued", { hasText: "echo unwanted" }).waitFor({ state: "detached" });
  await session.abort();
  await page.locator(".say", { hasText: "wanted" }).waitFor();
  await page.locator(".end", { hasText: "Completed" }).waitFor();
  expect(await page.locator(".you").allInnerTexts()).toEqual(["hang", "echo wanted"]);
  expect(complaints).toEqual([]);
});

/** How the inspector looks: axe finds nothing, a phone is enough to answer, and pictures for the documents. */
import { expect, test } from "vitest";
import type { TestDaemon } from "../support/daemon.ts";
import { findings, openInspector, PHONE, picture, startWebDaemon, until } from "../support/inspector.ts";

const COMMAND =
  'npm ci --ignore-scripts && npm test -- --run test/config.test.ts test/server.test.ts --reporter=dot && git add -A src test README.md && git commit -m "config: rename port to listen, keep port as an alias"';

/** A few sessions in every state. */
async function filled(): Promise<TestDaemon> {
  const daemon = await startWebDaemon();
  const { client, directory } = daemon;
  const make = (id: string, title: string) => client.create({ id, agent: "mock", directory, title });
  for (const [id, title, prompt] of [
    ["read", "Read README.md and add a line", "tool"],
    ["kill", "Kill in mid-stream", "crash"],
    ["look", "Look at the README", "subagent"],
  ] as const) {
    const session = await make(id, title);
    for await (const event of session.ask(prompt)) if (event.type === "turn.ended") break;
  }
  const port = await make("port", "Rename port to listen");
  for (const prompt of ["demo", "reasoning"]) {
    for await (const event of port.ask(prompt)) if (event.type === "turn.ended") break;
  }
  await port.prompt(`permission ${COMMAND}`);
  await (await make("runner", "Choose a test runner")).prompt("question");
  await (await make("zig", "Port the parser to Zig")).prompt("long 600");
  return daemon;
}

const screens = [
  ["conversation", "/s/port", "[data-card]"],
  ["lanes", "/s/port/lanes", ".lr .ev.edge"],
  ["timeline", "/s/port/timeline", ".strip .b"],
  ["failed", "/s/kill", ".fail"],
  ["question", "/s/runner", "[data-card]"],
  ["home", "/", ".empty"],
  ["new-session", "/new", ".form .chip"],
  ["health", "/health", ".agent-list li"],
  ["usage", "/usage", ".hb"],
] as const;

test.each(["light", "dark"] as const)("%s: axe finds nothing on any screen", async (colorScheme) => {
  const daemon = await filled();
  const { page, complaints } = await openInspector(daemon, "/", { colorScheme });
  for (const [name, place, sign] of screens) {
    await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
    await page.locator(sign).first().waitFor();
    if (name === "lanes") await page.locator(".chip", { hasText: /All 1\d\d/ }).waitFor();
    expect([name, ...(await findings(page))]).toEqual([name]);
    if (["conversation", "lanes", "timeline"].includes(name)) await picture(page, `${name}-${colorScheme}`);
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("zig");
  await page.locator('[role="option"]', { hasText: "Port the parser to Zig" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await until(page, `location.hash === "#/s/zig"`);
  expect(complaints).toEqual([]);
});

test("on a phone a permission is read whole and answered with the thumb", async () => {
  const daemon = await filled();
  const { page } = await openInspector(daemon, "/", PHONE);
  await page.locator(".srow", { hasText: "Rename port to listen" }).waitFor();
  expect(await findings(page)).toEqual([]);
  await picture(page, "phone-sessions");
  await page.locator(".srow", { hasText: "Rename port to listen" }).click();
  const card = page.getByRole("region", { name: "Run this command?" });
  await card.waitFor();
  await card.getByText("git commit -m", { exact: false }).first().waitFor();
  for (const name of [/Allow once/, /^Always/, /^Reject/]) {
    const box = await card.getByRole("button", { name }).first().boundingBox();
    expect(box === null ? null : [box.height >= 48, box.y + box.height <= 844, box.x >= 0]).toEqual([true, true, true]);
  }
  expect(await page.evaluate(`document.documentElement.scrollWidth`)).toBe(390);
  expect(await findings(page)).toEqual([]);
  await picture(page, "phone-permission");
  await card.getByRole("button", { name: /Allow once/ }).click();
  await page.getByRole("region", { name: "Edit CHANGELOG.md?" }).waitFor();
  await page.getByRole("button", { name: "Lanes", exact: true }).click();
  await page.locator(".lane-switch").waitFor();
  expect(await page.evaluate(`document.documentElement.scrollWidth`)).toBe(390);
  await page.getByRole("link", { name: "All sessions" }).click();
  await page.locator(".srow").first().waitFor();
});

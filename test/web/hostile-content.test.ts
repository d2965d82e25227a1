/** Content that tries to break the page: whatever an agent writes, the page stays usable and runs and loads nothing. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { TestDaemon } from "../support/daemon.ts";
import { drop, expectNoComplaints, newPage, openInspector, startWebDaemon, until } from "../support/inspector.ts";
import { root } from "../support/transcripts.ts";

/** Has a session with one answer per text. */
async function answered(texts: readonly string[]): Promise<TestDaemon> {
  const daemon = await startWebDaemon();
  const session = await daemon.client.create({ id: "hostile", agent: "mock", directory: daemon.directory });
  for (const text of texts) {
    for await (const event of session.ask(`echo ${text}`)) if (event.type === "turn.ended") break;
  }
  return daemon;
}

async function visitEveryView(page: Page): Promise<void> {
  for (const [view, place] of [
    ["Lanes", ".lanes-view"],
    ["Timeline", ".tl"],
    ["Conversation", ".flow"],
  ] as const) {
    await page.getByRole("button", { name: view, exact: true }).first().click();
    await page.locator(place).first().waitFor();
  }
}

const nested = {
  quotes: ">".repeat(8_000),
  "spaced quotes": "> ".repeat(8_000),
  lists: "- ".repeat(8_000),
  "numbered lists": "1. ".repeat(5_000),
  emphasis: `${"*a **b ".repeat(3_000)}`,
  stars: `${"*".repeat(15_000)}x`,
  brackets: `${"[".repeat(15_000)}a${"](b)".repeat(3_000)}`,
  pictures: "![a".repeat(5_000),
  tables: `| a |\n|---|\n${"|".repeat(15_000)}`,
  "indented lists": Array.from({ length: 120 }, (_, depth) => `${" ".repeat(2 * depth)}- a`).join("\n"),
  "one long line": "x".repeat(500_000),
};

test("deeply nested Markdown leaves every message and view in place", async () => {
  const daemon = await answered(Object.entries(nested).map(([name, text]) => `${name}:\n\n${text}\n\nend of ${name}`));
  const { page, complaints } = await openInspector(daemon, "/s/hostile");
  for (const name of Object.keys(nested)) {
    await page.locator(".say", { hasText: `end of ${name}` }).waitFor({ state: "attached" });
  }
  await visitEveryView(page);
  await page.getByLabel("Prompt").fill("echo still here");
  await page.keyboard.press("Enter");
  await page.locator(".say", { hasText: "still here" }).waitFor();
  expect(complaints).toEqual([]);
}, 240_000);

test("markup, scripts, remote pictures and unsafe links are text", async () => {
  const daemon = await answered([
    [
      '<script>document.title = "run"</script><img src="http://192.0.2.1/a.png" onerror="document.title=1">',
      '<svg onload="document.title=2"><a xlink:href="javascript:document.title=3">svg</a></svg>',
      '<iframe src="http://192.0.2.1/frame"></iframe><style>* { display: none }</style>',
      "![remote](http://192.0.2.1/pixel.png) ![inline](data:image/svg+xml,<svg/onload=alert(1)>)",
      "[one](javascript:document.title=4) [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>1</script>)",
      "[four](java\tscript:alert(1)) [five](vbscript:x) [six](&#106;avascript:alert(1)) [seven](//192.0.2.1/x)",
      "<javascript:alert(1)> [safe](https://example.org/)",
      "[defined] ![defined]\n\n[defined]: javascript:alert(1)",
    ].join("\n\n"),
  ]);
  const opened = await openInspector(daemon, "/s/hostile");
  const { page } = opened;
  const say = page.locator(".say");
  await say.getByText("safe").waitFor();
  expect(await say.locator("script, img, svg, iframe, style, object, embed, form").count()).toBe(0);
  const links: unknown = await page.evaluate(
    `[...document.querySelectorAll(".flow a")].map((one) => one.getAttribute("href"))`,
  );
  expect(links).toEqual(expect.arrayContaining(["https://example.org/"]));
  expect(Array.isArray(links) && links.every((href) => /^(https?:\/\/|mailto:)/.test(String(href)))).toBe(true);
  expect(await page.title()).toBe("Franca");
  await expectNoComplaints(opened, daemon.url);
});

test("direction marks, control characters and lone surrogates are visible escapes", async () => {
  const daemon = await startWebDaemon();
  const { client, directory } = daemon;
  const title = "safe \u202Egnp.exe\u2066 \u0007title";
  const session = await client.create({ id: "marks", agent: "mock", directory, title });
  const { page, complaints } = await openInspector(daemon, "/s/marks");
  await session.prompt("permission echo a\u202Eb\u200Bc\u2066");
  const card = page.getByRole("region", { name: "Run this command?" });
  expect(await card.locator("[data-command]").innerText()).toContain("a\\u202eb\\u200bc\\u2066");
  await page.getByRole("heading", { name: "safe \\u202egnp.exe\\u2066 \\x07title" }).waitFor();
  await page.keyboard.press("ControlOrMeta+k");
  await page.getByRole("option", { name: /safe/ }).waitFor();
  await page.getByRole("link", { name: /safe/ }).first().waitFor({ state: "attached" });
  const hidden = `[document.documentElement.outerHTML].filter((text) => /[\\u202a-\\u202e\\u2066-\\u2069\\u0007]/.test(text)).length`;
  expect(await page.evaluate(hidden)).toBe(0);
  const other = await client.create({ id: "surrogates", agent: "mock", directory });
  for await (const event of other.ask("echo lone \ud800 surrogate \udc00 \u202E")) {
    if (event.type === "turn.ended") break;
  }
  await page.evaluate(`location.hash = "#/s/surrogates"`);
  await page.locator(".say", { hasText: "surrogate" }).waitFor();
  expect(await page.evaluate(hidden)).toBe(0);
  expect(complaints).toEqual([]);
});

test("deep and odd tool inputs are shown in a bounded form", async () => {
  const daemon = await startWebDaemon();
  const { page, complaints } = await newPage();
  await page.goto(`${daemon.url}/`);
  await page.getByText("This page is not logged in.").waitFor();
  const inputs = [
    `{"deep":${"[".repeat(300)}${"]".repeat(300)}}`,
    `{"__proto__":{"command":"polluted"},"constructor":1,"toString":{"hasOwnProperty":2}}`,
    `{"many":[${"1,".repeat(50_000)}1]}`,
    `{"text":"\\ud800 ${"y".repeat(100_000)}"}`,
  ];
  const lines = readFileSync(join(root, "transcripts", "mock", "tool", "native.jsonl"), "utf8");
  for (const [index, input] of inputs.entries()) {
    const text = lines.replaceAll(/"input":\{[^{}]*\}/g, () => `"input":${input}`);
    expect(text).not.toBe(lines);
    await drop(page, { name: `input-${index}.jsonl`, text });
    await page.getByRole("heading", { name: `input-${index}.jsonl` }).waitFor();
    await page.getByRole("button", { name: "Conversation", exact: true }).first().click();
    await page.locator(".end").first().waitFor();
    await page.locator("button.tool").first().click();
    await page.locator(".tool-body .json").first().waitFor();
    expect(await page.locator(".unshown").count()).toBe(0);
  }
  expect(await page.evaluate(`({}).command === undefined && document.querySelectorAll("*").length < 50_000`)).toBe(
    true,
  );
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
});

/** Makes drawing any text with this word fail, as an error in our own code would. */
const FAULT = "the-word-that-fails";
const BREAK = `(() => {
  const replace = String.prototype.replace;
  String.prototype.replace = function (...given) {
    if (window.isBroken !== false && this.includes("${FAULT}")) throw new Error("broken on purpose");
    return replace.apply(this, given);
  };
})()`;

test("an error while a message is drawn leaves the rest of the page, the raw text and a retry", async () => {
  const daemon = await answered(["before", `with ${FAULT} inside`, "after"]);
  const { page } = await openInspector(daemon, "/");
  await page.evaluate(BREAK);
  await page.evaluate(`location.hash = "#/s/hostile"`);
  await page.locator(".say", { hasText: "after" }).waitFor();
  await page.locator(".say", { hasText: "before" }).waitFor();
  const failed = page.getByRole("alert").filter({ hasText: "This message could not be shown." });
  // The prompt and its answer.
  await until(page, `document.querySelectorAll(".unshown").length === 2`);
  await failed.first().getByText("broken on purpose").waitFor();
  await failed.first().getByText("Raw text").click();
  await failed.first().getByText(`with ${FAULT} inside`).waitFor();
  await page.evaluate(`window.isBroken = false`);
  await failed.last().getByRole("button", { name: "Try again" }).click();
  await page.locator(".say", { hasText: FAULT }).waitFor();
  await failed.first().getByRole("button", { name: "Try again" }).click();
  expect(await page.locator(".unshown").count()).toBe(0);
});

test("a view that fails names the error, keeps the other views, and can be tried again", async () => {
  const daemon = await answered([`with ${FAULT} inside`]);
  const { page } = await openInspector(daemon, "/");
  await page.evaluate(BREAK);
  await page.evaluate(`location.hash = "#/s/hostile/timeline"`);
  const failed = page.getByRole("alert").filter({ hasText: "This view could not be shown." });
  await failed.getByText("broken on purpose").waitFor();
  await page.getByRole("button", { name: "Conversation", exact: true }).first().click();
  await page.locator(".end", { hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Timeline", exact: true }).first().click();
  await failed.waitFor();
  await page.evaluate(`window.isBroken = false`);
  await failed.getByRole("button", { name: "Try again" }).click();
  await page.locator(".tl").first().waitFor();
  expect(await failed.count()).toBe(0);
});

test("an address with invalid percent-escapes opens the page", async () => {
  const daemon = await startWebDaemon();
  const { page, complaints } = await openInspector(daemon, "/");
  await page.evaluate(`location.hash = "#/s/%E0%A4%A"`);
  await page.getByText("There is no such session").waitFor();
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
});

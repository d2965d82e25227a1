/** The inspector in a real Chromium: pages that are logged in, and what a test may ask of them. */
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, expect, vi } from "vitest";
import type { Client } from "../../src/sdk/index.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { root } from "./transcripts.ts";

const program = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/** Waits are for events; this is how long a busy machine may take to bring one. */
export const PATIENCE_MS = 30_000;

export const TOKEN = "a-token-for-the-tests-of-the-inspector";

let browser: Browser | null = null;

async function open(): Promise<Browser> {
  if (program === undefined) throw new Error("chromium is not on the PATH: apt-get install chromium.");
  // Its sandbox needs rights that root in a container does not have.
  browser ??= await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
  return browser;
}

afterAll(async () => {
  await browser?.close();
  browser = null;
});

export interface Opened {
  readonly page: Page;
  /** What the page complained about: must stay empty. */
  readonly complaints: string[];
  /** Every address that it asked for. */
  readonly requests: string[];
}

export async function newPage(options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await (await open()).newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // The browser notes each request that finds no daemon; the page shows that itself.
    if (message.type() === "error" && !message.text().includes("ERR_")) complaints.push(message.text());
  });
  page.on("request", (request) => requests.push(request.url()));
  return { page, complaints, requests };
}

export interface At {
  readonly url: string;
  readonly client: Client;
}

/** A page that logged in with a one-time code, at a place of the inspector. */
export async function openInspector(
  { url, client }: At,
  place = "/",
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await newPage(options);
  const { code } = await client.makeLoginCode();
  await opened.page.goto(`${url}/#code=${code}&to=${encodeURIComponent(place)}`);
  await opened.page.getByText("live", { exact: true }).first().waitFor({ state: "attached" });
  return opened;
}

/** In this process, with a token, as pages meet it. */
export const startWebDaemon = (): Promise<TestDaemon> => startDaemon({ token: TOKEN });

export async function expectNoComplaints({ complaints, requests }: Opened, url: string): Promise<void> {
  expect(complaints).toEqual([]);
  expect(
    requests.filter((one) => !one.startsWith(url) && !one.startsWith("data:") && !one.startsWith("blob:")),
  ).toEqual([]);
}

/** Drops a file on the page, as a person does. */
export async function drop(
  page: Page,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<void> {
  const file = `new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: "text/plain" })`;
  const script = `(() => { const transfer = new DataTransfer(); transfer.items.add(${file}); return transfer; })()`;
  const data = await page.evaluateHandle(script);
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
}

/** Waits until an expression is true in the page. Evaluated from outside: the page itself forbids code made of text. */
export const until = (page: Page, expression: string): Promise<boolean> =>
  vi.waitUntil(async () => (await page.evaluate(expression)) === true, { timeout: PATIENCE_MS, interval: 50 });

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** What axe finds on the page: must stay empty. */
export async function findings(page: Page): Promise<string[]> {
  expect(await page.getByRole("main").count()).toBe(1);
  // What fades in has its colours only at the end; what turns for ever is no matter of contrast.
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter((one) => one.effect?.getTiming().iterations !== Infinity).map((one) => one.finished.catch(() => {})))`);
  await page.evaluate(axe.source);
  const found: unknown =
    await page.evaluate(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then(({ violations }) =>
    violations.flatMap((one) => one.nodes.map(({ html }) => one.id + ": " + html.slice(0, 160))))`);
  return Array.isArray(found) ? found.map(String) : ["axe gave no answer"];
}

const pictures = process.env.UPDATE === "1";

/** For the documents; only when they are made again. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!pictures) return;
  const folder = join(root, "docs", "images");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}

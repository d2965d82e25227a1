/** The inspector during a flood, in a real Chromium: how long a key takes from the keyboard to the screen. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Page } from "playwright-core";
import { idleAt, post } from "./http.ts";
import { atMost, type Measurement, percentile, type Result } from "./measure.ts";
import { startFranca } from "./programs.ts";

const DELTAS = 20_000;
const FLOODS = 3;
const KEY_MS = 40;
const LIMIT_MS = 100;
/** As browsers count it: of a few hundred keys, one or two may be worse. */
const PERCENT = 98;
/** Quicker ones are not reported by the browser. */
const REPORTED_MS = 16;

const program = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

export const inspector: Measurement = {
  name: "inspector",
  quick: false,
  async run() {
    const what = `inspector: key to screen during a flood of ${DELTAS.toLocaleString("en")} deltas, p${PERCENT}`;
    if (program === undefined) return [{ what, measured: "not measured: no chromium on the PATH", target: null }];
    const { chromium } = await import("playwright-core");
    const franca = await startFranca();
    const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const session = `${franca.url}/v1/sessions/flood`;
      await post(session, { agent: "mock", directory: process.cwd() });
      const page = await browser.newPage();
      await page.goto(`${franca.url}/#/s/flood`);
      await page.getByLabel("Prompt").waitFor();
      return await measure(page, { session, what });
    } finally {
      await browser.close();
      await franca.stop();
    }
  },
};

async function measure(page: Page, { session, what }: { session: string; what: string }): Promise<Result[]> {
  await page.evaluate(`(() => {
    window.keys = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === "keydown") window.keys.push(entry.duration);
    }).observe({ type: "event", durationThreshold: ${REPORTED_MS} });
  })()`);
  await page.getByLabel("Prompt").focus();
  let pressed = 0;
  for (let flood = 0; flood < FLOODS; flood += 1) {
    await post(`${session}/messages`, { message: `flood ${DELTAS}` });
    const over = { now: false };
    const ended = idleAt(session).then(() => {
      over.now = true;
    });
    while (!over.now || (await page.locator(".end").count()) <= flood) {
      await page.keyboard.press("a");
      pressed += 1;
      await new Promise((resolve) => setTimeout(resolve, KEY_MS));
    }
    await ended;
  }
  const seen: unknown = await page.evaluate("window.keys");
  const slow = Array.isArray(seen) ? seen.map(Number) : [];
  // The others were quicker than the browser reports.
  const all = [...slow, ...Array.from({ length: Math.max(0, pressed - slow.length) }, () => REPORTED_MS)];
  const measured = percentile(all, PERCENT);
  return [
    {
      what,
      measured: `${measured.toFixed(0)} ms, the slowest ${Math.max(...all).toFixed(0)} ms, of ${pressed} keys`,
      target: atMost(measured, LIMIT_MS, " ms"),
    },
  ];
}

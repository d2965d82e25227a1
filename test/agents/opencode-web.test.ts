/** OpenCode's web app, as the installed binary carries it, in a real Chromium: served by `franca opencode --web`. */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { missingChromium, openPage, type Page } from "../support/chromium.ts";
import { program as franca, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openCodeApi } from "../support/opencode-client.ts";
import { text } from "../support/opencode-surface.ts";
import { describeNeeding } from "../support/requires.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";
const missing = program === "" ? "OpenCode was not found" : missingChromium;

const TURNS = 40;
const SHOWN_MS = 60_000;

/** A page draws when it likes: looked at again and again, until it shows what is expected. */
async function shows(page: Page, expected: RegExp): Promise<string> {
  const started = Date.now();
  for (;;) {
    const drawn = String(await page.evaluate("document.body.innerText"));
    if (expected.test(drawn)) return drawn;
    if (Date.now() - started > SHOWN_MS) throw new Error(`The page does not show ${expected}, but: ${drawn}`);
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)))");
  }
}

describeNeeding("OpenCode's web app on the mock", { missing }, () => {
  test("shows a long history, and an answer that comes while it is open", { timeout: 240_000 }, async () => {
    const home = temporaryFolder();
    const directory = temporaryFolder();
    const path = `${dirname(program)}:${process.env.PATH}`;
    const daemon = await serve({ home, env: { PATH: path } });
    const headers = { authorization: `Bearer ${daemon.token}` };
    const api = openCodeApi(`${daemon.url}/opencode`, { directory, headers });
    const { body: session } = await api.post("/session", { title: "A long one" });
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await api.post(`/session/${session.id}/message`, text(`echo answer number ${turn}.`));
    }
    const args = [franca, "opencode", "--web", "--trust", "--agent", "mock", "--dir", directory];
    const child = spawn(process.execPath, args, {
      env: testEnvironment(home, { PATH: path }),
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGTERM"));
    const lines = createInterface({ input: child.stdout });
    const [line] = await new Promise<string[]>((resolve) => lines.once("line", (said) => resolve([said])));
    const url = /http:\S+/.exec(line ?? "")?.[0] ?? "";
    expect((await fetch(url.replace(/\/\/.*@/, "//"))).status).toBe(401);
    const page = await openPage();
    const place = Buffer.from(directory).toString("base64url");
    await page.open(`${url}/${place}/session/${session.id}`);
    await shows(page, /answer number 40\./);
    await api.post(`/session/${session.id}/message`, text("echo it is live."));
    await shows(page, /it is live\./);
  });
});

/** OpenCode's web app, as the installed binary carries it, in a real Chromium: served by `franca opencode --web`. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { connect } from "../../src/sdk/index.ts";
import { answer, call, text as words } from "../support/builtin.ts";
import { missingChromium } from "../support/chromium.ts";
import { program as franca, serve, testEnvironment } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { newPage } from "../support/inspector.ts";
import { type Api, openCodeApi } from "../support/opencode-client.ts";
import { text } from "../support/opencode-surface.ts";
import { describeNeeding } from "../support/requires.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";
const missing = program === "" ? "OpenCode was not found" : missingChromium;

const TURNS = 40;
/** OpenCode's own server is started with the first thing that only it can answer. */
const STARTED_MS = 90_000;

function repository(folder: string): string {
  const path = join(folder, "project");
  mkdirSync(path);
  writeFileSync(join(path, "README.md"), "# Demo\n\nFirst line.\n");
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    [...identity, "commit", "-q", "-m", "first"],
  ]) {
    execFileSync("git", args, { cwd: path });
  }
  return path;
}

interface WebApp {
  readonly page: Page;
  readonly api: Api;
  readonly directory: string;
  /** Shows the session. */
  readonly open: (session: string) => Promise<void>;
}

async function openWebApp({ agent, env = {} }: { agent: string; env?: Record<string, string> }): Promise<WebApp> {
  const home = temporaryFolder();
  const directory = repository(home);
  const path = `${dirname(program)}:${process.env.PATH}`;
  const daemon = await serve({ home, args: ["--port", "0"], env: { PATH: path, ...env } });
  await connect({ url: daemon.url, token: daemon.token ?? false }).addTrust(directory, { force: true });
  const args = [franca, "opencode", "--web", "--server", daemon.url, "--agent", agent, "--dir", directory];
  const child = spawn(process.execPath, args, {
    env: testEnvironment(home, { PATH: path }),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  const [line]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
  const { origin, username, password } = new URL(/http:\S+/.exec(String(line))?.[0] ?? "");
  expect((await fetch(origin)).status).toBe(401);
  const { page } = await newPage({ httpCredentials: { username, password } });
  page.setDefaultTimeout(STARTED_MS);
  const place = Buffer.from(directory).toString("base64url");
  const headers = { authorization: `Bearer ${daemon.token}` };
  return {
    page,
    directory,
    api: openCodeApi(`${daemon.url}/opencode/@${agent}`, { directory, headers }),
    open: async (session) => void (await page.goto(`${origin}/${place}/session/${session}`)),
  };
}

describeNeeding("OpenCode's web app", { missing }, () => {
  test("shows a history of 40 turns from its end to its beginning, and what comes meanwhile", async () => {
    const { page, api, open } = await openWebApp({ agent: "mock" });
    const { body: session } = await api.post("/session", { title: "A long one" });
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await api.post(`/session/${session.id}/message`, text(`echo answer ${turn}. ${"More words. ".repeat(40)}`));
    }
    await open(session.id);
    await page.getByText(`answer ${TURNS}. `).last().waitFor();
    expect(await page.getByText("answer 1. ").count()).toBe(0);
    await page.mouse.move(700, 400);
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, -2_000);
          return page.getByText("answer 1. ").count();
        },
        { timeout: STARTED_MS },
      )
      .toBeGreaterThan(0);
    await page.getByRole("button", { name: "Jump to latest" }).click();
    await api.post(`/session/${session.id}/message`, text("echo it is live."));
    await page.getByText("it is live.", { exact: true }).waitFor();
  }, 300_000);

  test("a change that was asked for, allowed and made is in the review pane", async () => {
    const model = await serveAnthropic({
      turns: [
        answer(call("edit", { filePath: "README.md", oldString: "First line.", newString: "First line.\nOne more." })),
        answer(words("It is changed.", 3)),
      ],
    });
    onTestFinished(() => model.close());
    const env = { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: model.url };
    const { page, api, directory, open } = await openWebApp({ agent: "builtin", env });
    const { body: session } = await api.post("/session", { title: "A change" });
    await open(session.id);
    await page.getByRole("textbox").first().click();
    await page.keyboard.type("Add a line to README.md");
    // Before it knows the models, it sends nothing.
    await page.getByText("Default model").first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("It is changed.").waitFor();
    expect(readFileSync(join(directory, "README.md"), "utf8")).toBe("# Demo\n\nFirst line.\nOne more.\n");
    await page.getByRole("button", { name: "Toggle review" }).click();
    await page.getByText("Files Changed").waitFor();
    await page.locator("diffs-container").getByText("One more.").first().waitFor();
  }, 300_000);

  test("a terminal opens in the folder and runs a command", async () => {
    const { page, api, directory, open } = await openWebApp({ agent: "mock" });
    const { body: session } = await api.post("/session", { title: "A terminal" });
    await open(session.id);
    await page.getByRole("textbox").first().waitFor();
    // It is drawn on a canvas: what it shows is what came by its WebSocket.
    let shown = "";
    page.on("websocket", (socket) => {
      socket.on("framereceived", ({ payload }) => {
        shown += payload.toString();
      });
    });
    await page.keyboard.press("Control+Backquote");
    await page.locator('[data-component="terminal"] canvas').waitFor();
    await expect.poll(() => shown, { timeout: STARTED_MS }).toContain("project");
    await page.keyboard.type('echo "$PWD is $((40 + 2))"\n');
    await expect.poll(() => shown, { timeout: STARTED_MS }).toContain(`${directory} is 42`);
  }, 300_000);
});

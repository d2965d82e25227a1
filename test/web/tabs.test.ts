/** How a second tab gets in, and who does not: pages of other origins, frames, openers, and what took the port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openInspector, PATIENCE_MS, startWebDaemon, until } from "../support/inspector.ts";

const CREDENTIAL = `sessionStorage.getItem("franca-credential")`;

/** Notes whatever is said on the channel. */
const LISTEN = `(() => {
  window.heard = [];
  new BroadcastChannel("franca-login").onmessage = ({ data }) => window.heard.push(JSON.stringify(data));
})()`;

/** Notes whatever is said on the channel, and asks for a login in every way that a tab does. */
const EAVESDROP = `(() => {
  window.heard = [];
  const channel = new BroadcastChannel("franca-login");
  channel.onmessage = ({ data }) => {
    window.heard.push(JSON.stringify(data));
    if (data.type === "here") channel.postMessage({ type: "please", by: "thief", tab: data.tab });
  };
  channel.postMessage({ type: "ask" });
  channel.postMessage({ type: "ask", by: "thief" });
})()`;

async function secondTab(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  return page;
}

/** A server of somebody else; gives every request that reached it. */
async function otherServer({ port = 0, html = "" } = {}): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((incoming, outgoing) => {
    heard.push(`${incoming.url} ${JSON.stringify(incoming.headers)}`);
    outgoing.setHeader("content-type", "text/html");
    outgoing.end(`<!doctype html><title>Elsewhere</title><body>${html}</body>`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

test("a second tab gets a login of its own by a one-time code; no credential crosses the channel", async () => {
  const daemon = await startWebDaemon();
  await daemon.client.create({ id: "shared", agent: "mock", directory: daemon.directory, title: "Shared" });
  const { page } = await openInspector(daemon);
  await page.evaluate(LISTEN);
  const second = await secondTab(page.context(), `${daemon.url}/#/s/shared`);
  await second.locator(".head h1", { hasText: "Shared" }).waitFor();
  const [first, own, heard] = [
    String(await page.evaluate(CREDENTIAL)),
    String(await second.evaluate(CREDENTIAL)),
    String(await page.evaluate(`window.heard.join("\\n")`)),
  ];
  expect(own).not.toBe(first);
  expect(heard).toContain('"type":"code"');
  for (const credential of [first, own]) expect(heard).not.toContain(credential);
  // The code was used up by the tab that it was for.
  const code = /"by":"[^"]+","code":"([^"]+)"/.exec(heard)?.[1] ?? "";
  const again = await fetch(`${daemon.url}/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  expect([code === "", again.status]).toEqual([false, 401]);
});

test("a page of another origin hears nothing, frames nothing, and has no hold on a page that it opened", async () => {
  const daemon = await startWebDaemon();
  const { page } = await openInspector(daemon);
  const { port } = await otherServer();
  for (const host of ["localhost", "127.0.0.1"]) {
    const foreign = await secondTab(page.context(), `http://${host}:${port}/`);
    await foreign.evaluate(EAVESDROP);
    const seen = await foreign.evaluate(`(async () => {
      const frame = document.createElement("iframe");
      const loaded = new Promise((resolve) => { frame.onload = resolve; frame.onerror = resolve; });
      frame.src = ${JSON.stringify(daemon.url)} + "/";
      document.body.append(frame);
      await loaded;
      const reach = (use) => { try { return String(use()); } catch { return "refused"; } };
      return { framed: reach(() => frame.contentWindow.sessionStorage.length) };
    })()`);
    expect(seen).toEqual({ framed: "refused" });
    const [, frame] = foreign.frames();
    expect(await frame?.evaluate(`document.getElementById("app")`)).toBe(null);
    const opening = page.context().waitForEvent("page");
    await foreign.evaluate(`(() => { window.other = open(${JSON.stringify(daemon.url)} + "/"); })()`);
    const opened = await opening;
    opened.setDefaultTimeout(PATIENCE_MS);
    // It is the person's browser, so the page itself logs in; the page that opened it is cut off.
    await opened.getByText("live", { exact: true }).first().waitFor({ state: "attached" });
    expect(await opened.evaluate(`window.opener === null`)).toBe(true);
    await until(foreign, "window.other.closed");
    expect(await foreign.evaluate("window.heard")).toEqual([]);
    expect(await foreign.evaluate(CREDENTIAL)).toBe(null);
  }
});

test("what took the port of a daemon that ended gets neither a credential nor a code", async () => {
  const home = temporaryFolder();
  const first = await serve({ home, args: ["--port", "0"] });
  const client = connect({ url: first.url, token: first.token ?? "" });
  const session = await client.create({ id: "left", agent: "mock", directory: home, title: "Left open" });
  const { page } = await openInspector({ url: first.url, client }, `/s/${session.id}`);
  await page.locator(".head h1", { hasText: "Left open" }).waitFor();
  const credential = String(await page.evaluate(CREDENTIAL));
  first.child.kill("SIGKILL");
  await page.locator(".banner.lost").waitFor();
  const { heard } = await otherServer({ port: Number(new URL(first.url).port) });
  const thief = await secondTab(page.context(), `${first.url}/`);
  await thief.evaluate(EAVESDROP);
  await page
    .getByRole("button", { name: "Try now" })
    .click({ timeout: 5_000 })
    .catch(() => {});
  await page.getByText("What answers here is not the daemon that this page logged in to").waitFor();
  expect(heard.join("\n")).toContain("/v1/health");
  expect(heard.join("\n").toLowerCase()).not.toContain("authorization");
  expect(heard.join("\n")).not.toContain(credential);
  expect(await thief.evaluate("window.heard")).toEqual([]);
}, 120_000);

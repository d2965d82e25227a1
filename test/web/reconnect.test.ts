/** A daemon that dies under an open page, a path prefix before it, and texts that try to break out. */
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/sdk/index.ts";
import { serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { drop, newPage, openInspector, startWebDaemon } from "../support/inspector.ts";
import { root } from "../support/transcripts.ts";

test("the daemon is killed under the open page: it says so, reconnects, loses and doubles nothing", async () => {
  const home = temporaryFolder();
  const first = await serve({ home, args: ["--port", "0"], env: { FRANCA_MOCK_DELAY_MS: "2" } });
  const client = connect({ url: first.url, token: first.token ?? "" });
  const session = await client.create({ id: "lives", agent: "mock", directory: home });
  const { page, complaints } = await openInspector({ url: first.url, client }, "/s/lives");
  await session.prompt("echo before the end");
  await page.locator(".end").first().waitFor();
  await session.prompt("long 60");
  await page.locator(".say", { hasText: "1 s" }).waitFor();
  first.child.kill("SIGKILL");
  await page.locator(".banner.lost", { hasText: "Not connected since" }).waitFor();
  await page.getByLabel("Prompt").fill("echo after it");
  expect(await page.getByRole("button", { name: /^(Send|Queue)/ }).isDisabled()).toBe(true);
  const { port } = new URL(first.url);
  await serve({ home, args: ["--port", port] });
  await page
    .getByRole("button", { name: "Try now" })
    .click({ timeout: 5_000 })
    .catch(() => {});
  await page.locator(".banner.lost").waitFor({ state: "detached" });
  await page.locator(".end", { hasText: "Interrupted, found at the daemon’s restart" }).waitFor();
  await page.getByRole("button", { name: /^Send/ }).click();
  await page.locator(".say", { hasText: "after it" }).waitFor();
  await page.locator(".end", { hasText: "Completed" }).nth(1).waitFor();
  expect(await page.locator(".you").allInnerTexts()).toEqual(["echo before the end", "long 60", "echo after it"]);
  expect(await page.locator(".end").count()).toBe(3);
  expect(complaints).toEqual([]);
});

test("below a path prefix everything works, and nothing outside of it is asked for", async () => {
  const daemon = await startWebDaemon();
  await daemon.client.create({ id: "below", agent: "mock", directory: daemon.directory });
  const proxy = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith("/tools/franca/") !== true) return void outgoing.writeHead(404).end();
    const { origin: _, ...headers } = incoming.headers;
    const path = incoming.url.slice("/tools/franca".length);
    const options = { port: daemon.port, host: "127.0.0.1", method: incoming.method, path, headers };
    const onward = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/franca`;
  const { page, requests } = await openInspector({ url, client: daemon.client }, "/s/below");
  await page.getByLabel("Prompt").fill("echo through the prefix");
  await page.keyboard.press("Enter");
  await page.locator(".say", { hasText: "through the prefix" }).waitFor();
  expect(requests.filter((one) => !one.startsWith(`${url}/`))).toEqual([]);
});

const HOSTILE = [
  "<img src=x onerror=\"window.hacked='img'\"><script>window.hacked='script'</script>",
  "[click](javascript:window.hacked='link') ![pixel](https://example.com/pixel.png)",
  "<a href='javascript:1'>x</a> <iframe src='https://example.com'></iframe> <style>body{display:none}</style>",
  "safe\u202etxt.exe \u001b[31mred\u001b[0m \u0007bell",
  "`<b>code</b>`",
].join("\n\n");

test("hostile texts are shown as text, wherever they come from", async () => {
  const daemon = await startWebDaemon();
  const { client, directory, url } = daemon;
  const session = await client.create({
    id: "hostile",
    agent: "mock",
    directory,
    title: `<img src=x onerror="window.hacked='title'">`,
  });
  const { page, requests, complaints } = await openInspector(daemon, "/s/hostile");
  await session.prompt(`echo ${HOSTILE}`);
  await page.locator(".end").waitFor();
  const said = page.locator(".say").last();
  const text = await said.innerText();
  for (const part of [
    "<img src=x",
    "<script>",
    "<iframe",
    "<style>",
    "safe\\u202etxt.exe",
    "\\x1b[31mred",
    "<b>code</b>",
  ]) {
    expect(text).toContain(part);
  }
  await session.prompt("permission rm -rf ~ \u001b[2K\u202e# harmless");
  await page.locator("[data-command]", { hasText: "\\x1b[2K\\u202e# harmless" }).waitFor();
  const state = () =>
    page.evaluate(`({
      hacked: "hacked" in window,
      markup: document.querySelectorAll(".flow img, .flow script, .flow iframe, .flow style, h1 img, nav img").length,
      links: [...document.querySelectorAll("a[href]")].filter((a) => /^javascript:/i.test(a.getAttribute("href"))).length,
    })`);
  expect(await state()).toEqual({ hacked: false, markup: 0, links: 0 });
  const recorded = readFileSync(join(root, "transcripts", "claude", "read-edit-partial", "native.jsonl"), "utf8");
  const escaped = JSON.stringify(HOSTILE).slice(1, -1);
  await drop(page, { name: "<img src=x>.jsonl", text: recorded.replaceAll("Done!", () => escaped) });
  await page.getByRole("grid", { name: "Lanes" }).waitFor();
  await page.locator(".lr .ev").nth(3).waitFor();
  expect(await state()).toEqual({ hacked: false, markup: 0, links: 0 });
  expect(requests.filter((one) => !one.startsWith(url) && !one.startsWith("data:"))).toEqual([]);
  expect(complaints).toEqual([]);
});

test("a page whose login was revoked says so, and shows nothing more", async () => {
  const daemon = await startWebDaemon();
  const { page } = await openInspector(daemon);
  await daemon.client.revokeLogins();
  await page.reload();
  await page.getByText("This page is not logged in.").waitFor();
  const other = await newPage();
  await other.page.goto(`${daemon.url}/#code=nonsense`);
  await other.page.getByText(/used already or has expired/).waitFor();
});

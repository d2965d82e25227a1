/** A real browser: a page of another origin gets nothing and changes nothing; the daemon's own page logs in. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { missingChromium, openPage } from "../../support/chromium.ts";
import { startDaemon, type TestDaemon } from "../../support/daemon.ts";
import { describeNeeding } from "../../support/requires.ts";

const TOKEN = "the-token-of-this-daemon";

/** An empty page of another origin: a site of its own by name, or the same site on another port. */
async function servePage(host: "localhost" | "127.0.0.1"): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Elsewhere</title><body>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

/** Runs in the page. Each try makes a session under its own name, or reads; the answer says what the page could see. */
const attack = (daemon: string): string => `(async () => {
  const daemon = ${JSON.stringify(daemon)};
  const body = JSON.stringify({ agent: "mock" });
  const make = (name) => daemon + "/v1/sessions/" + name;
  const settled = (element, place) => new Promise((resolve) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    place.append(element);
  });
  const element = (tag, fields) => settled(Object.assign(document.createElement(tag), fields), document.body);
  const frame = async (fields) => {
    const made = Object.assign(document.createElement("iframe"), fields);
    await settled(made, document.body);
    try { return made.contentDocument === null ? "refused" : made.contentDocument.body.innerText; }
    catch { return "refused"; }
  };
  const read = (path, init) => fetch(daemon + path, init).then((answer) => answer.text(), () => "refused");
  const seen = {};
  seen.fetch = await read("/v1/sessions/fetch", { method: "POST", body });
  seen.json = await read("/v1/sessions/json", { method: "POST", body, headers: { "content-type": "application/json" } });
  seen.list = await read("/v1/sessions");
  seen.health = await read("/v1/health");
  seen.opencode = await read("/opencode/session");
  seen.blind = await read("/v1/sessions/blind", { method: "POST", body, mode: "no-cors" });
  navigator.sendBeacon(make("beacon"), body);
  navigator.sendBeacon(daemon + "/opencode/session", new Blob(["{}"], { type: "text/plain" }));
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: make("form"), enctype: "text/plain", target: "sink" });
  form.append(Object.assign(document.createElement("input"), { name: '{"agent":"mock","title":"', value: '"}' }));
  const sink = Object.assign(document.createElement("iframe"), { name: "sink" });
  document.body.append(sink, form);
  const posted = new Promise((resolve) => { sink.onload = resolve; });
  form.submit();
  await posted;
  seen.image = await element("img", { src: daemon + "/v1/sessions" });
  seen.script = await element("script", { src: daemon + "/openapi.json" });
  seen.style = await element("link", { rel: "stylesheet", href: daemon + "/v1/sessions" });
  seen.object = await element("object", { data: daemon + "/v1/sessions", type: "text/html" });
  seen.frame = await frame({ src: daemon + "/v1/sessions" });
  seen.page = await frame({ src: daemon + "/" });
  const first = (source) => new Promise((resolve) => {
    source.onopen = () => resolve("loaded");
    source.onerror = () => { source.close(); resolve("refused"); };
  });
  seen.events = await first(new EventSource(daemon + "/v1/events"));
  seen.socket = await first(new WebSocket(daemon.replace("http", "ws") + "/v1/events"));
  return seen;
})()`;

const asPerson = ({ url }: TestDaemon, token: string | null) =>
  fetch(`${url}/v1/sessions`, token === null ? {} : { headers: { authorization: `Bearer ${token}` } });

/** The ids of all sessions, asked for after everything that was sent before has been answered. */
async function made(daemon: TestDaemon, token: string | null): Promise<string[]> {
  const { sessions } = (await (await asPerson(daemon, token)).json()) as { sessions: { sessionId: string }[] };
  return sessions.map(({ sessionId }) => sessionId).sort();
}

describeNeeding("a page of another origin in a real browser", { missing: missingChromium }, () => {
  const cases = [
    { host: "localhost", token: null },
    { host: "127.0.0.1", token: null },
    { host: "localhost", token: TOKEN },
    { host: "127.0.0.1", token: TOKEN },
  ] as const;
  test.each(cases)("from $host, token $token: reads nothing, and nothing happens", async ({ host, token }) => {
    const daemon = await startDaemon({ token });
    const origin = await servePage(host);
    const page = await openPage();
    await page.open(origin);
    const seen = await page.evaluate(attack(daemon.url));
    expect(new Set(Object.values(seen ?? {}))).toEqual(new Set(["refused"]));
    expect(await made(daemon, token)).toEqual([]);
  });

  test("the same page, when its origin was named with --cors-allow-origin, does read and make sessions", async () => {
    const origin = await servePage("localhost");
    const daemon = await startDaemon({ corsAllowOrigin: [origin] });
    const page = await openPage();
    await page.open(origin);
    const seen = await page.evaluate(attack(daemon.url));
    expect(seen).toMatchObject({ health: expect.stringContaining("ok"), list: expect.stringContaining("fetch") });
    expect(await made(daemon, null)).toEqual(expect.arrayContaining(["fetch", "json"]));
  });
});

describeNeeding("the daemon's own page in a real browser", { missing: missingChromium }, () => {
  test("logs in with a code once, shows the sessions, and leaves no code in the address", async () => {
    const { url, client } = await startDaemon({ token: TOKEN });
    await client.create({ agent: "mock", id: "shown-in-the-page", title: "Shown" });
    const { code } = await client.makeLoginCode();
    const page = await openPage();
    const text = () => page.evaluate("document.body.innerText");
    await page.open(`${url}/#code=${code}`);
    await expect.poll(text, { timeout: 20_000 }).toContain("Shown");
    expect(await page.evaluate("location.href")).toBe(`${url}/#/`);
    expect(await page.evaluate("document.cookie + localStorage.length")).toBe("0");
    await page.open(`${url}/?again`);
    await expect.poll(text, { timeout: 20_000 }).toContain("Shown");
    const other = await openPage();
    await other.open(`${url}/#code=${code}`);
    const stranger = () => other.evaluate("document.body.innerText");
    await expect.poll(stranger, { timeout: 20_000 }).toContain("franca open");
    expect(await stranger()).not.toContain("Shown");
  });
});

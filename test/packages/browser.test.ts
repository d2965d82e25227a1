/** The package in a page of another origin, in a real Chromium: it logs in with a code and runs a prompt. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { missingChromium, openPage } from "../support/chromium.ts";
import { startDaemon } from "../support/daemon.ts";
import { emptyFolder, nodes, sdkTarball } from "../support/packages.ts";
import { describeNeeding } from "../support/requires.ts";

describeNeeding("Chromium", { missing: missingChromium }, () => {
  test("a page uses the installed package", async () => {
    const place = emptyFolder(nodes.at(-1) ?? "");
    onTestFinished(place.close);
    await place.run("npm", ["install", sdkTarball]);
    const script = readFileSync(join(place.folder, "node_modules", "@franca", "sdk", "index.mjs"));
    const site = createServer((incoming, outgoing) => {
      const isScript = incoming.url === "/sdk.mjs";
      outgoing.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      outgoing.end(isScript ? script : "<!doctype html><title>A page</title>");
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void site.close());
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const daemon = await startDaemon({ token: "never-in-the-page", corsAllowOrigin: [origin] });
    const { code } = await daemon.client.makeLoginCode();

    const page = await openPage();
    await page.open(origin);
    const result = await page.evaluate(`(async () => {
      const { connect, login } = await import("/sdk.mjs");
      const url = ${JSON.stringify(daemon.url)};
      const { credential } = await login({ url, code: ${JSON.stringify(code)} });
      const session = await connect({ url, token: credential }).create({ agent: "mock" });
      let text = "";
      for await (const piece of session.text("echo Hello from a page")) text += piece;
      const { files } = await session.run("permission", { onPermission: () => "once" });
      const usage = await connect({ url, token: credential }).session(session.id).run(" ").catch((error) => error.name);
      return { text, files: files.length, usage, refused: await connect({ url }).sessions().catch((error) => error.code) };
    })()`);
    expect(result).toEqual({ text: "Hello from a page", files: 1, usage: "UsageError", refused: "token_invalid" });
  });
});

/** No way out of the directory, no command and no fetch without the rule that allows it. */
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findPlace, isInside } from "../../../src/runtime/confine.ts";
import { isPrivateAddress } from "../../../src/runtime/outbound/address.ts";
import { type Bench, openBench } from "../../support/tools.ts";

const SECRET = "the-secret-outside";

/** A folder with every kind of trap in it. */
function trapped(options: Parameters<typeof openBench>[0] = {}): Bench {
  const bench = openBench(options);
  const { directory, outside } = bench;
  writeFileSync(join(outside, "secret.txt"), SECRET);
  mkdirSync(join(outside, "folder"));
  writeFileSync(join(outside, "folder", "deep.txt"), SECRET);
  writeFileSync(join(directory, "plain.txt"), "plain");
  symlinkSync(join(outside, "secret.txt"), join(directory, "link.txt"));
  symlinkSync("../outside/secret.txt", join(directory, "relative-link.txt"));
  symlinkSync(outside, join(directory, "link-folder"));
  symlinkSync(join(outside, "new.txt"), join(directory, "dangling.txt"));
  symlinkSync("link-folder", join(directory, "link-to-link"));
  mkdirSync(join(directory, "sub"));
  symlinkSync("../../..", join(directory, "sub", "up"));
  symlinkSync("loop", join(directory, "loop"));
  return bench;
}

/** Ways to the secret. `OUT` is the real path of the folder outside. */
const ways = [
  "../outside/secret.txt",
  "./../outside/secret.txt",
  "sub/../../outside/secret.txt",
  "OUT/secret.txt",
  "link.txt",
  "./link.txt",
  "relative-link.txt",
  "link-folder/secret.txt",
  "link-folder/folder/deep.txt",
  "link-to-link/secret.txt",
  "sub/up/outside/secret.txt",
  "link-folder/../outside/secret.txt",
  "/OUT/secret.txt",
  "//OUT/secret.txt",
  "~/secret.txt",
];
const written = (way: string, { outside }: Bench): string => way.replace("OUT", outside);

describe("read", () => {
  test.each(ways)("%s asks for the way out, and without an answer tells nothing", async (way) => {
    const bench = trapped();
    const result = await bench.run("read", { filePath: written(way, bench) });
    expect(JSON.stringify(result)).not.toContain(SECRET);
    if (way === "~/secret.txt") return;
    expect(result).toHaveProperty("denied");
    expect(bench.asked[0]).toContain("external_directory");
  });

  test("a rule for read does not open the way out; a rule for the place does", async () => {
    const closed = trapped({ permission: { read: "allow", "*": "allow" } });
    expect(await closed.run("read", { filePath: "link.txt" })).toHaveProperty("denied");
    const open = trapped();
    const allowed = trapped({ permission: { external_directory: { "*": "allow" } } });
    expect(await open.run("read", { filePath: "link.txt" })).toHaveProperty("denied");
    expect(JSON.stringify(await allowed.run("read", { filePath: "link.txt" }))).toContain(SECRET);
  });

  test("a rule for another place does not help", async () => {
    const bench = trapped({ permission: { external_directory: { "/somewhere/else/*": "allow" } } });
    expect(await bench.run("read", { filePath: "../outside/secret.txt" })).toHaveProperty("denied");
  });

  test("pipes and devices are not opened: a read that never ends is no read", async () => {
    const bench = trapped();
    execFileSync("mkfifo", [join(bench.directory, "pipe")]);
    expect(await bench.run("read", { filePath: "pipe" })).toEqual({ failure: "pipe is no regular file." });
    expect(await bench.run("read", { filePath: "sub" })).toHaveProperty("failure");
  });

  test("links in a circle, and a path with a NUL in it", async () => {
    const bench = trapped();
    await expect(bench.run("read", { filePath: "loop" })).rejects.toThrow("too many symbolic links");
    await expect(bench.run("read", { filePath: "plain.txt\0.png" })).rejects.toThrow("NUL");
  });
});

describe("write, edit and multiedit", () => {
  test.each([...ways, "dangling.txt", "link-folder/brand/new.txt"])("%s leaves the outside as it is", async (way) => {
    // Edits inside are allowed: only the way out is not.
    const bench = trapped({ permission: { edit: "allow" } });
    const filePath = written(way, bench);
    const results = [
      await bench.run("write", { filePath, content: "owned" }),
      await bench.run("edit", { filePath, oldString: SECRET, newString: "owned" }),
      await bench.run("multiedit", { filePath, edits: [{ oldString: SECRET, newString: "owned" }] }),
    ];
    expect(readFileSync(join(bench.outside, "secret.txt"), "utf8")).toBe(SECRET);
    expect(readFileSync(join(bench.outside, "folder", "deep.txt"), "utf8")).toBe(SECRET);
    expect(readdirSync(bench.outside).sort()).toEqual(["folder", "secret.txt"]);
    if (way !== "~/secret.txt") expect(results.every((result) => "denied" in result)).toBe(true);
  });

  test("acceptEdits opens the inside only", async () => {
    const bench = trapped({ mode: "acceptEdits" });
    expect(await bench.run("write", { filePath: "plain.txt", content: "new" })).toHaveProperty("output");
    expect(await bench.run("write", { filePath: "link.txt", content: "owned" })).toHaveProperty("denied");
    expect(bench.asked).toEqual([`external_directory: ${join(bench.outside, "secret.txt")}`]);
  });

  test("outside, both the way and the edit are asked for", async () => {
    const bench = trapped({ reply: "once" });
    await bench.run("write", { filePath: "../outside/new.txt", content: "x" });
    expect(bench.asked).toEqual([
      `external_directory: ${join(bench.outside, "new.txt")}`,
      `edit: ${join(bench.outside, "new.txt")}`,
    ]);
    expect(existsSync(join(bench.outside, "new.txt"))).toBe(true);
  });

  test("a rule that forbids the edit spares the question about the way", async () => {
    const bench = trapped({ permission: { edit: "deny" }, reply: "once" });
    expect(await bench.run("write", { filePath: "../outside/new.txt", content: "x" })).toHaveProperty("denied");
    expect(bench.asked).toEqual([]);
  });
});

describe("glob, grep and list", () => {
  test("do not follow links out, and do not take a folder outside", async () => {
    const bench = trapped();
    const found = JSON.stringify([
      await bench.run("glob", { pattern: "**/*" }),
      await bench.run("glob", { pattern: "../outside/*" }),
      await bench.run("grep", { pattern: "secret" }),
      await bench.run("list", { depth: 5 }),
    ]);
    expect(found).not.toContain("deep.txt");
    expect(found).not.toContain(SECRET);
    for (const path of ["..", bench.outside, "link-folder", "sub/up", "link-to-link"]) {
      expect(await bench.run("glob", { pattern: "*", path })).toHaveProperty("denied");
      expect(await bench.run("grep", { pattern: "secret", path })).toHaveProperty("denied");
      expect(await bench.run("list", { path })).toHaveProperty("denied");
    }
    expect(await bench.run("grep", { pattern: "secret", path: "link.txt" })).toHaveProperty("denied");
  });
});

describe("bash", () => {
  test("nothing runs unasked", async () => {
    const bench = trapped();
    for (const command of ["touch made", "true; touch made", "$(touch made)", "`touch made`", "echo > made"]) {
      expect(await bench.run("bash", { command })).toHaveProperty("denied");
    }
    expect(existsSync(join(bench.directory, "made"))).toBe(false);
    expect(bench.asked).toHaveLength(5);
  });

  test.each([
    "cat ../outside/secret.txt",
    "cat OUT/secret.txt",
    "cat link.txt",
    "cat link-folder/secret.txt",
    "cat --file=OUT/secret.txt",
    "cat sub/up/outside/secret.txt",
    "cat link-folder/../outside/secret.txt",
    "cat -f../outside/secret.txt",
    "cat -C/etc passwd",
    "cat plain.txt:OUT/secret.txt",
    "cat <OUT/secret.txt",
    "cat plain.txt; cat link.txt",
  ])("a command that a rule allows still has no way out: %s", async (command) => {
    const bench = trapped({ permission: { bash: { "cat *": "allow" } } });
    const result = await bench.run("bash", { command: written(command, bench) });
    expect(result).toHaveProperty("denied");
    expect(bench.asked[0]).toContain("external_directory: ");
  });

  test("inside, the same command runs unasked", async () => {
    const bench = trapped({ permission: { bash: { "cat *": "allow" } } });
    expect(await bench.run("bash", { command: "cat plain.txt" })).toMatchObject({ output: "plain", exit_code: 0 });
    expect(await bench.run("bash", { command: "cat ./sub/../plain.txt /dev/null" })).toMatchObject({ output: "plain" });
    expect(bench.asked).toEqual([]);
  });

  test("who is asked about the command has seen the path; a rule that forbids the place still holds", async () => {
    const asked = trapped({ reply: "once" });
    expect(await asked.run("bash", { command: "cat link.txt" })).toMatchObject({ output: SECRET });
    expect(asked.asked).toEqual(["bash: cat link.txt"]);
    const forbidden = trapped({ reply: "once", permission: { external_directory: "deny" } });
    expect(await forbidden.run("bash", { command: "cat link.txt" })).toHaveProperty("denied");
  });

  test("a command knows nothing of the keys of model providers", async () => {
    const bench = trapped({ permission: { bash: "allow" } });
    expect(await bench.run("bash", { command: "env" })).not.toMatchObject({ output: expect.stringContaining("KEY") });
  });
});

describe("webfetch", () => {
  async function local(): Promise<{ url: string; hits: () => number; port: number }> {
    let hits = 0;
    const server = createServer((request, response) => {
      hits += 1;
      if (request.url === "/open/down") response.writeHead(302, { location: "/closed" }).end();
      else if (request.url === "/away") response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
      else response.writeHead(200, { "content-type": "text/html" }).end("<title>T</title><p>Hello <b>there</b></p>");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, hits: () => hits, port };
  }

  test("nothing is fetched unasked", async () => {
    const { url, hits } = await local();
    const bench = openBench();
    expect(await bench.run("webfetch", { url })).toHaveProperty("denied");
    expect(bench.asked).toEqual([`webfetch: ${url}/`]);
    expect(hits()).toBe(0);
  });

  test("private addresses are refused although webfetch is allowed", async () => {
    const { port, hits } = await local();
    const bench = openBench({ permission: { webfetch: "allow", "*": "allow" } });
    for (const host of [
      "127.0.0.1",
      "localhost",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
    ]) {
      const result = await bench.run("webfetch", { url: `http://${host}:${port}/` });
      expect(result).toMatchObject({ denied: expect.stringContaining("private addresses are refused") });
    }
    expect(hits()).toBe(0);
  });

  test("a rule that names the host opens it", async () => {
    const { url, port } = await local();
    const hello = { output: "# T\n\nHello there" };
    const byAddress = openBench({ permission: { webfetch: "allow", private_address: { "127.0.0.1:*": "allow" } } });
    expect(await byAddress.run("webfetch", { url })).toMatchObject(hello);
    const byUrl = openBench({ permission: { webfetch: { [`http://127.0.0.1:${port}/*`]: "allow" } } });
    expect(await byUrl.run("webfetch", { url })).toMatchObject(hello);
    const bypass = openBench({ mode: "bypass" });
    expect(await bypass.run("webfetch", { url })).toMatchObject(hello);
  });

  test("a redirect to another place needs that place's own permission", async () => {
    const { url, port } = await local();
    const bench = openBench({ permission: { webfetch: { [`http://127.0.0.1:${port}/*`]: "allow" } } });
    expect(await bench.run("webfetch", { url: `${url}/away` })).toHaveProperty("denied");
    expect(bench.asked).toEqual(["webfetch: http://127.0.0.1:1/"]);
  });

  test("nor does a rule for some pages open others of the same place", async () => {
    const { url, hits } = await local();
    const rules = { webfetch: { [`${url}/open/*`]: "allow", [`${url}/closed`]: "deny" } } as const;
    const bench = openBench({ permission: rules });
    expect(await bench.run("webfetch", { url: `${url}/open/down` })).toHaveProperty("denied");
    expect(hits()).toBe(1);
    const asking = openBench({ permission: { private_address: "allow" }, reply: "once" });
    expect(await asking.run("webfetch", { url: `${url}/open/down` })).toHaveProperty("output");
    expect(asking.asked).toEqual([`webfetch: ${url}/open/down`]);
  });

  test("private addresses may be asked about, and a rule against them beats one that names the host", async () => {
    const { url, port } = await local();
    const asking = openBench({ permission: { webfetch: "allow", private_address: "ask" } });
    expect(await asking.run("webfetch", { url })).toHaveProperty("denied");
    expect(asking.asked).toEqual([`private_address: 127.0.0.1:${port}`]);
    const both = openBench({ permission: { webfetch: { [`${url}/*`]: "allow" }, private_address: "deny" } });
    expect(await both.run("webfetch", { url })).toHaveProperty("denied");
  });

  test.each([
    "file:///etc/passwd",
    "ftp://host/x",
    "data:text/plain,x",
    "javascript:1",
    "not a url",
    "http://user:pw@host/",
  ])("%s is no URL for it", async (url) => {
    const bench = openBench({ mode: "bypass" });
    expect(await bench.run("webfetch", { url })).toHaveProperty("failure");
  });

  test.each([
    ["127.0.0.1", true],
    ["10.1.2.3", true],
    ["172.16.0.1", true],
    ["172.32.0.1", false],
    ["192.168.1.1", true],
    ["169.254.169.254", true],
    ["100.64.0.1", true],
    ["0.0.0.0", true],
    ["255.255.255.255", true],
    ["8.8.8.8", false],
    ["::1", true],
    ["::", true],
    ["fe80::1%eth0", true],
    ["fd00::1", true],
    ["::ffff:10.0.0.1", true],
    ["::ffff:a00:1", true],
    ["::ffff:8.8.8.8", false],
    ["64:ff9b::a00:1", true],
    ["2606:4700:4700::1111", false],
    ["what", true],
  ])("%s is private: %s", (address, expected) => {
    expect(isPrivateAddress(address)).toBe(expected);
  });
});

describe("places", () => {
  test("a hard link inside is inside: it is the same file, and nobody can tell", async () => {
    const bench = openBench();
    writeFileSync(join(bench.directory, "a"), "x");
    linkSync(join(bench.directory, "a"), join(bench.directory, "b"));
    expect(await findPlace(bench.directory, "b")).toMatchObject({ inside: true, shown: "b" });
  });
  test("a folder that only begins with the same name is outside", () => {
    expect(isInside({ directory: "/srv/app", path: "/srv/app-other/x" })).toBe(false);
    expect(isInside({ directory: "/srv/app", path: "/srv/app/..x" })).toBe(true);
    expect(isInside({ directory: "/srv/app", path: "/srv" })).toBe(false);
    expect(isInside({ directory: "/", path: "/etc" })).toBe(true);
  });
});

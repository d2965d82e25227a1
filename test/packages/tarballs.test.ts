/** What is in the packages and what is not, an installation from git, the release's steps, and the files in deploy/. */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../support/folders.ts";
import { clone, emptyFolder, francaTarball, nodes, sdkTarball } from "../support/packages.ts";
import { describeNeeding } from "../support/requires.ts";

const filesIn = (tarball: string): string[] =>
  execFileSync("tar", ["tzf", tarball], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((path) => path.replace("package/", ""));
const textIn = (tarball: string, path: string): string =>
  execFileSync("tar", ["xzOf", tarball, `package/${path}`], { encoding: "utf8" });
const manifestOf = (tarball: string) => z.looseObject({}).parse(JSON.parse(textIn(tarball, "package.json")));

describe("franca", () => {
  const files = filesIn(francaTarball);

  test("is complete and at most 1.1 MB, without source maps, pictures and recordings", () => {
    expect(statSync(francaTarball).size).toBeLessThanOrEqual(1_100_000);
    expect(files).toEqual(
      expect.arrayContaining([
        "bin/franca.js",
        "dist/cli.js",
        "dist/sdk.d.ts",
        "dist/types/server/index.d.ts",
        "LICENSE",
      ]),
    );
    expect(files.filter((path) => /\.(map|png|svg|gif|webm|jsonl|test\.ts)$|^(src|transcripts)\//.test(path))).toEqual(
      [],
    );
  });

  test("contains what its README links to", () => {
    const targets = [...textIn(francaTarball, "README.md").matchAll(/\]\(([^)#\s]+)/g)].map(
      ([, target = ""]) => target,
    );
    const own = targets.filter((target) => !/^https?:/.test(target)).map((target) => normalize(target));
    expect(own.length).toBeGreaterThan(10);
    const holds = (path: string): boolean => files.some((file) => file === path || file.startsWith(`${path}/`));
    expect(own.filter((path) => !holds(path) && !/\.(png|svg|gif)$/.test(path))).toEqual([]);
  });

  test("names no address that release.json does not", () => {
    const { security: _, ...release } = JSON.parse(readFileSync(join(clone, "release.json"), "utf8"));
    const manifest = manifestOf(francaTarball);
    for (const [name, value] of Object.entries(release)) expect(name in manifest).toBe(value !== "");
    expect(manifest.keywords).toContain("coding-agent");
  });
});

test("@franca/sdk is at most 20 kB of compressed JavaScript and needs nothing", () => {
  expect(gzipSync(textIn(sdkTarball, "index.mjs")).length).toBeLessThanOrEqual(20_000);
  expect(filesIn(sdkTarball).sort()).toEqual(
    ["README.md", "index.d.mts", "index.d.ts", "index.js", "index.mjs", "package.json"].sort(),
  );
  const manifest = manifestOf(sdkTarball);
  expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([]);
  expect(manifest).toMatchObject({ name: "@franca/sdk", version: manifestOf(francaTarball).version });
  expect(textIn(sdkTarball, "index.d.ts")).not.toMatch(/from "|import\(/);
  expect(textIn(sdkTarball, "index.mjs")).toBe(textIn(francaTarball, "dist/sdk.js"));
});

test("npm install git+file: builds the package", { timeout: 240_000 }, async () => {
  const place = emptyFolder(nodes.at(-1) ?? "");
  onTestFinished(place.close);
  await place.run("npm", ["install", `git+file://${clone}`]);
  expect(await place.run("npx", ["franca", "run", "--agent", "mock", "--", "echo from git"])).toBe("from git\n");
  expect(readFileSync(join(place.folder, "node_modules", "franca", "dist", "sdk.d.cts"), "utf8")).toContain(
    "RunResult",
  );
});

test("a release is refused while it has no address; the dry run packs both packages and lists their parts", async () => {
  const script = join(clone, "scripts", "release.js");
  const refused = spawnSync(process.execPath, [script], { cwd: clone, encoding: "utf8" });
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining("release.json does not say repository"),
  ]);
  const args = [script, "--dry-run", "--no-tests", "--no-build"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: clone });
  expect(stdout).toMatch(/Not done: git tag -a v\S+; npm publish franca@\S+ \(latest\); npm publish @franca\/sdk@/);
  const sbom = (name: string) => {
    const [version] = /\d+\.\d+\.\d+[^/]*(?=\.tgz)/.exec(francaTarball) ?? [];
    return JSON.parse(readFileSync(join(clone, "release", `${name}-${version}.sbom.json`), "utf8"));
  };
  expect(sbom("franca").components.length).toBeGreaterThan(10);
  expect(sbom("franca-sdk")).toMatchObject({ metadata: { component: { name: "@franca/sdk" } }, components: [] });
});

describe("deploy/Dockerfile", () => {
  const text = readFileSync(join(clone, "deploy", "Dockerfile"), "utf8").replaceAll(/\\\n\s*/g, "");
  const instructions = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

  test("has only instructions that Docker knows, and does not run as root", () => {
    const known = /^(FROM|WORKDIR|COPY|RUN|USER|ENV|VOLUME|EXPOSE|HEALTHCHECK|CMD) \S/;
    expect(instructions.filter((line) => !known.test(line))).toEqual([]);
    expect(instructions.findLast((line) => line.startsWith("USER"))).toBe("USER node");
  });

  test("its steps give a daemon that passes the health check", async () => {
    const place = emptyFolder("24");
    onTestFinished(place.close);
    const prefix = temporaryFolder();
    const install = /npm install --global/.exec(text)?.[0] ?? "";
    await place.run("bash", ["-c", `${install} --prefix ${prefix} ${francaTarball}`]);
    const variables = Object.fromEntries(
      (/^ENV (.*)$/m.exec(text)?.[1] ?? "").split(" ").map((pair) => pair.split("=") as [string, string]),
    );
    expect(variables).toEqual({ FRANCA_DATA: "/data", FRANCA_HOST: "0.0.0.0" });
    const env = { ...variables, FRANCA_DATA: join(prefix, "data"), FRANCA_PORT: "0" };
    const franca = join(prefix, "bin", "franca");
    const started = await place.run(franca, ["daemon", "start"], env);
    onTestFinished(async () => void (await place.run(franca, ["daemon", "stop"], env)));
    const [port] = /(?<=:)\d+/.exec(started.replace("http:", "")) ?? [];
    const [, check = ""] = /CMD (node -e ".*")$/m.exec(text) ?? [];
    await place.run("bash", ["-c", check.replace("7717", port ?? "")]);
  });
});

const analyze = spawnSync("systemd-analyze", ["--version"]).status === 0;
describeNeeding("systemd", { missing: analyze ? null : "systemd-analyze is not installed" }, () => {
  test("deploy/franca.service is a unit that systemd takes", () => {
    const unit = join(clone, "deploy", "franca.service");
    const env = { ...process.env, XDG_RUNTIME_DIR: temporaryFolder() };
    const verified = spawnSync("systemd-analyze", ["verify", "--user", unit], { encoding: "utf8", env });
    expect([verified.status, verified.stderr]).toEqual([0, ""]);
    const broken = join(dirname(env.XDG_RUNTIME_DIR), "broken.service");
    writeFileSync(broken, readFileSync(unit, "utf8").replace("Type=exec", "Type=nonsense"));
    onTestFinished(() => void spawnSync("rm", [broken]));
    expect(spawnSync("systemd-analyze", ["verify", "--user", broken], { encoding: "utf8", env }).stderr).not.toBe("");
  });
});

/**
 * `npm run test:packages [-- vitest arguments]`: packs both packages in a clean clone of this tree, brings Node 20, 22
 * and 24 from npm (once, into the cache of scripts/tools.js), and runs test/packages/ with them.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ensureInstalled, root } from "./ensure.js";
import { runTests } from "./run-tests.js";
import { cache } from "./tools.js";

const MAJORS = [20, 22, 24];
/** The linter of the OpenAPI document: one package without dependencies. */
const REDOCLY = "@redocly/cli@2.77.0";
const STEP_MS = 240_000;

ensureInstalled();
const work = mkdtempSync(join(tmpdir(), "franca-packages-"));
try {
  const clone = cloneTree(join(work, "clone"));
  const tarballs = join(work, "tarballs");
  mkdirSync(tarballs);
  run("npm", ["pack", "--silent", "--pack-destination", tarballs], { cwd: clone });
  run("npm", ["pack", "--silent", "--pack-destination", tarballs, join(clone, "dist-sdk")], { cwd: clone });
  const nodes = Object.fromEntries(MAJORS.map((major) => [major, nodeOf(major)]));
  const env = {
    FRANCA_TEST_CLONE: clone,
    FRANCA_TEST_TARBALLS: tarballs,
    FRANCA_TEST_NODES: JSON.stringify(nodes),
    FRANCA_TEST_REDOCLY: cached("redocly", REDOCLY, "@redocly/cli/bin/cli.js"),
  };
  process.exitCode = runTests(process.argv.slice(2), { name: "packages", config: "vitest.packages.config.ts", env });
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** A repository with the files of this tree, changes that are not committed included, and nothing that git ignores. */
function cloneTree(folder) {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
  });
  // Recordings and their tests are no part of a package; without them the copies are quick.
  const files = list.split("\0").filter((path) => path !== "" && !path.startsWith("transcripts/"));
  for (const path of files.filter((path) => existsSync(join(root, path)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  run("git", ["init", "--quiet"], { cwd: folder });
  run("git", ["add", "--all"], { cwd: folder });
  const person = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  run("git", [...person, "commit", "--quiet", "--message", "The tree"], { cwd: folder });
  return folder;
}

/** A Node of this major version: the one that runs here, or npm's package `node`. */
function nodeOf(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  return cached(`node-${major}`, `node@${major}`, "node/bin/node");
}

/** A file of a package that is installed into the cache, once. */
function cached(name, spec, file) {
  const folder = join(cache, name);
  const path = join(folder, "node_modules", file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  run("npm", ["install", "--no-fund", "--no-audit", "--engine-strict=false", spec], { cwd: folder });
  return path;
}

function run(command, args, { cwd }) {
  const { status, signal } = spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2], timeout: STEP_MS });
  if (status === 0) return;
  throw new Error(`${command} ${args.join(" ")} ended with ${status ?? signal}`);
}

/**
 * `npm run release -- --dry-run`: what a release consists of, in order. Each step is printed before it runs, and the
 * first that fails ends it. With `--dry-run` everything is built and packed, and nothing is published.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./ensure.js";

const dryRun = process.argv.includes("--dry-run");
const withoutTests = process.argv.includes("--no-tests");
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

if (withoutTests && !dryRun) {
  console.error("--no-tests is for --dry-run only.");
  process.exit(2);
}

const node = (...args) => run(process.execPath, args);
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

step("the tree is clean, and the changelog names the version", checkTree);
if (!withoutTests) step("npm run check", () => run("npm", ["run", "--silent", "check"]));
step("node scripts/build.js", () => node("scripts/build.js"));
step("NOTICE holds the licences of what is bundled", () => node("scripts/notice.js", "--check"));
step("npm sbom > dist/sbom.json", writeSbom);
step("npm pack --dry-run", () => run("npm", ["pack", "--dry-run", "--ignore-scripts"]));
if (dryRun) console.log(`\nNot done: git tag v${version}; npm publish --provenance (${name}@${version})`);
else {
  step(`git tag v${version}`, () => git("tag", "-a", `v${version}`, "-m", `Franca ${version}`));
  step("npm publish", () => run("npm", ["publish", "--provenance", "--ignore-scripts"]));
}

function step(title, work) {
  console.log(`── ${title}`);
  work();
}

function checkTree() {
  const problems = [];
  if (git("status", "--porcelain") !== "") problems.push("there are changes that are not committed");
  const heading = readFileSync(join(root, "CHANGELOG.md"), "utf8").match(/^## (\S+)(.*)$/m);
  if (heading?.[1] !== version) problems.push(`CHANGELOG.md does not begin with ${version}`);
  else if (heading[2].includes("not released")) problems.push(`CHANGELOG.md says that ${version} is not released`);
  if (problems.length === 0) return;
  console.error(`${dryRun ? "A release would stop here" : "No release"}: ${problems.join("; ")}.`);
  if (!dryRun) process.exit(1);
}

/** The dependencies that users get, in CycloneDX's form. */
function writeSbom() {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
  const text = execFileSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const { components } = JSON.parse(text);
  writeFileSync(join(root, "dist", "sbom.json"), text);
  console.log(`${components.length} components`);
}

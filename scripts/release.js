/**
 * `npm run release -- --dry-run`: what a release of both packages consists of, in order. Each step is printed before it
 * runs, and the first that fails ends it. With `--dry-run` everything is built and packed, and nothing is published.
 * `--write-fields` only writes the addresses of release.json into package.json and SECURITY.md.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./ensure.js";
import { emptyFields, outdatedFiles, writeFields } from "./release-fields.js";
import { sdkFolder } from "./sdk-package.js";

const dryRun = process.argv.includes("--dry-run");
/** For a dry run in a tree that is tested, or built, already. */
const withoutTests = process.argv.includes("--no-tests");
const withoutBuild = process.argv.includes("--no-build");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const tag = `v${version}`;
/** `npm install franca` never gives a version like 1.2.0-beta.1. */
const channel = version.includes("-") ? "next" : "latest";
/** The tarballs and the lists of what they contain. */
const output = join(root, "release");
const packages = [
  { name: "franca", folder: root },
  { name: "@franca/sdk", folder: sdkFolder },
];

const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

if (process.argv.includes("--write-fields")) writeFields();
else if ((withoutTests || withoutBuild) && !dryRun) refuse("--no-tests and --no-build are for --dry-run only.");
else await release();

async function release() {
  step("the tree is clean, the changelog names the version, the addresses are known", checkTree);
  if (!withoutTests) step("npm run check", () => run("npm", ["run", "--silent", "check"]));
  if (!withoutBuild) step("build both packages", () => run(process.execPath, ["scripts/build.js", "--clean"]));
  step("NOTICE holds the licences of what is bundled", () => run(process.execPath, ["scripts/notice.js", "--check"]));
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output);
  for (const { name, folder } of packages) step(`npm pack ${name}`, () => pack(folder));
  step("write an SBOM for each package", writeSboms);
  const publish = packages.map(({ folder }) => [
    "publish",
    folder,
    "--provenance",
    "--ignore-scripts",
    "--tag",
    channel,
  ]);
  const commands = [`git tag -a ${tag}`, ...packages.map(({ name }) => `npm publish ${name}@${version} (${channel})`)];
  if (dryRun) return console.log(`\nNot done: ${commands.join("; ")}`);
  step(`git tag ${tag}`, () => git("tag", "-a", tag, "-m", `Franca ${version}`));
  for (const args of publish) step(`npm ${args.join(" ")}`, () => run("npm", args));
}

function step(title, work) {
  console.log(`── ${title}`);
  work();
}

function refuse(message) {
  console.error(message);
  process.exit(2);
}

function checkTree() {
  const problems = [];
  if (git("status", "--porcelain") !== "") problems.push("there are changes that are not committed");
  if (git("tag", "--list", tag) !== "") problems.push(`the tag ${tag} exists`);
  const heading = readFileSync(join(root, "CHANGELOG.md"), "utf8").match(/^## (\S+)(.*)$/m);
  if (heading?.[1] !== version) problems.push(`CHANGELOG.md does not begin with ${version}`);
  else if (heading[2].includes("not released")) problems.push(`CHANGELOG.md says that ${version} is not released`);
  const empty = emptyFields();
  if (empty.length > 0) problems.push(`release.json does not say ${empty.join(", ")}`);
  const outdated = outdatedFiles();
  if (outdated.length > 0) {
    problems.push(`${outdated.join(", ")} differ from release.json (npm run release -- --write-fields)`);
  }
  if (problems.length === 0) return;
  console.error(`${dryRun ? "A release would stop here" : "No release"}: ${problems.join("; ")}.`);
  if (!dryRun) process.exit(1);
}

function pack(folder) {
  run("npm", ["pack", folder, "--ignore-scripts", "--silent", "--pack-destination", output]);
}

/** CycloneDX. The client has no dependencies; those of franca are installed or bundled. */
function writeSboms() {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
  const franca = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }));
  const { metadata } = franca;
  const purl = `pkg:npm/%40franca/sdk@${version}`;
  const sdk = {
    ...franca,
    serialNumber: `urn:uuid:${crypto.randomUUID()}`,
    metadata: {
      ...metadata,
      component: { ...metadata.component, "bom-ref": `@franca/sdk@${version}`, name: "@franca/sdk", purl },
    },
    components: [],
    dependencies: [{ ref: `@franca/sdk@${version}`, dependsOn: [] }],
  };
  for (const [name, sbom] of Object.entries({ franca, "franca-sdk": sdk })) {
    writeFileSync(join(output, `${name}-${version}.sbom.json`), `${JSON.stringify(sbom, null, 2)}\n`);
    console.log(`${name}: ${sbom.components.length} components`);
  }
}

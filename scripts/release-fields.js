/**
 * release.json says where the project is found: `repository`, `homepage`, `bugs`, and `security`, the contact for
 * vulnerabilities. It is the only place for these. While a field is empty, nothing names it, and nothing is published.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./ensure.js";

const MANIFEST_FIELDS = ["repository", "homepage", "bugs"];
const FIELDS = [...MANIFEST_FIELDS, "security"];
const CONTACT = /^(## Report a vulnerability\n\n).*$/m;
const NO_CONTACT = "There is no release yet, and no contact for reports.";

const read = (name) => readFileSync(join(root, name), "utf8");
const fields = () => JSON.parse(read("release.json"));

export const emptyFields = () => FIELDS.filter((name) => !fields()[name]);

/** What the files should contain. */
function wanted() {
  const release = fields();
  const { repository, homepage, bugs, ...manifest } = JSON.parse(read("package.json"));
  const known = {
    ...(release.repository ? { repository: { type: "git", url: release.repository } } : {}),
    ...(release.homepage ? { homepage: release.homepage } : {}),
    ...(release.bugs ? { bugs: { url: release.bugs } } : {}),
  };
  const { name, version, description, ...rest } = manifest;
  const contact = release.security
    ? `Write to ${release.security}. Please do not open a public issue first. Say what you ran, what happened, and on which version.`
    : NO_CONTACT;
  return {
    "package.json": `${JSON.stringify({ name, version, description, ...known, ...rest }, null, 2)}\n`,
    "SECURITY.md": read("SECURITY.md").replace(CONTACT, (_, heading) => heading + contact),
  };
}

export const outdatedFiles = () =>
  Object.entries(wanted()).flatMap(([name, text]) => (read(name) === text ? [] : [name]));

export function writeFields() {
  for (const [name, text] of Object.entries(wanted())) writeFileSync(join(root, name), text);
}

/** The files around the code stay true: the lock file, the suites that CI runs, and the paths that documents name. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { root } from "./support/transcripts.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

const Locked = z.object({ integrity: z.string().optional(), resolved: z.string().optional() });
const LockFile = z.object({ packages: z.record(z.string(), Locked) });
const PackageFile = z.object({
  scripts: z.record(z.string(), z.string()),
  repository: z.object({ type: z.literal("git"), url: z.string() }).optional(),
  homepage: z.string().optional(),
  bugs: z.object({ url: z.string() }).optional(),
});
const ReleaseFile = z.strictObject({
  repository: z.string(),
  homepage: z.string(),
  bugs: z.string(),
  security: z.string(),
});

describe("the lock file", () => {
  const { "": own, ...packages } = LockFile.parse(JSON.parse(read("package-lock.json"))).packages;
  const namesWhere = (holds: (locked: z.infer<typeof Locked>) => boolean): string[] =>
    Object.entries(packages).flatMap(([name, locked]) => (holds(locked) ? [name] : []));

  // `npm ci` checks nothing for an entry without a hash. A tool whose packages for other platforms are not all
  // published is held at its newest version that is complete (`overrides` in package.json holds vite and rolldown).
  test("every package has a hash", () => {
    expect(own).toBeDefined();
    expect(namesWhere(({ integrity }) => !integrity?.startsWith("sha512-"))).toEqual([]);
  });

  test("no package is bound to the address of a registry", () => {
    expect(namesWhere(({ resolved }) => resolved !== undefined)).toEqual([]);
  });
});

test("CI has a budget for every suite", () => {
  const scripts = Object.keys(PackageFile.parse(JSON.parse(read("package.json"))).scripts);
  const suites = [...read(".ci/run").matchAll(/^suite \w+ \d+ (\S+)$/gm)].map(([, script = ""]) => script);
  expect(suites).toContain("test");
  expect(scripts.filter((name) => name.startsWith("test:") && !suites.includes(name))).toEqual([]);
});

test("addresses come from release.json alone (npm run release -- --write-fields)", () => {
  const release = ReleaseFile.parse(JSON.parse(read("release.json")));
  const { repository, homepage, bugs } = PackageFile.parse(JSON.parse(read("package.json")));
  const named = { repository: repository?.url ?? "", homepage: homepage ?? "", bugs: bugs?.url ?? "" };
  const { security, ...addresses } = release;
  expect(named).toEqual(addresses);
  expect(read("SECURITY.md")).toContain(security === "" ? "no contact for reports" : `Write to ${security}.`);
});

describe("ARCHITECTURE.md", () => {
  const text = read("ARCHITECTURE.md");

  const rowsOf = (title: string): string[] =>
    (text.split(`\n## ${title}`)[1]?.split("\n## ")[0] ?? "").split("\n").filter((line) => /^\| .*`src\//.test(line));
  const filesIn = (rows: readonly string[]): string[] =>
    rows.flatMap((row) => [...row.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, file = ""]) => file));

  test("ten behaviours, each in one file", () => {
    const rows = rowsOf("Where is it?");
    expect(rows.length).toBeGreaterThanOrEqual(10);
    expect(rows.map((row) => filesIn([row]).length)).toEqual(rows.map(() => 1));
  });

  test("the files that one delta passes are counted", () => {
    const files = filesIn(rowsOf("One delta"));
    expect(text).toContain(`passes ${new Set(files).size} files`);
    expect(files.length).toBeLessThan(31);
  });

  test("every path that it names is there", () => {
    const paths = [...text.matchAll(/`((?:bin|docs|integrations|scripts|src|test|transcripts)\/[^`\s]*)`/g)];
    const isThere = (path: string): boolean => (path.includes("<") ? hasOneLike(path) : existsSync(join(root, path)));
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.map(([, path = ""]) => path).filter((path) => !isThere(path))).toEqual([]);
  });
});

/** `src/adapters/<agent>/translate.ts`: a name in angle brackets stands for any; one such file is enough. */
function hasOneLike(path: string): boolean {
  const [folder = "", ...others] = path.replace(/\/$/, "").split("/");
  const pattern = new RegExp(`^${others.join("/").replaceAll(".", "\\.").replaceAll(/<\w+>/g, "[^/]+")}$`);
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).some((file) => pattern.test(file));
}

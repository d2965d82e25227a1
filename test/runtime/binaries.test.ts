/** Finding agents' programs, and installing one with an npm of the test's own. */
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { adapters } from "../../src/adapters/index.ts";
import { type Adapter, defineAdapter } from "../../src/core/adapter.ts";
import { type Binaries, openBinaries } from "../../src/runtime/agent/binaries.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import { fake } from "../support/fake-adapter.ts";
import { removeFolder, tempFolder } from "../support/sessions.ts";
import { root } from "../support/transcripts.ts";

const acme: Adapter = {
  ...defineAdapter({
    agent: "acme",
    name: "Acme",
    isNative: (value): value is object => typeof value === "object" && value !== null,
    recognises: () => false,
    capabilities: fake.capabilities,
    launch: fake.launch,
    adapter: { start: () => null, step: () => [] },
    binary: {
      name: "acme",
      versionArgs: ["--version"],
      install: {
        kind: "npm",
        package: "acme-cli",
        version: "0.9.0",
        fallbacks: ["acme-{platform}-{arch}/bin/acme"],
      },
    },
    credentials: { variables: ["ACME_KEY"], files: [".acme/login"] },
  }),
};

let folder: string;
let environment: Record<string, string>;
beforeEach(() => {
  folder = tempFolder();
  environment = { PATH: join(folder, "path"), HOME: join(folder, "home") };
});
afterEach(() => {
  vi.unstubAllEnvs();
  removeFolder(folder);
});

const binaries = (): Binaries =>
  openBinaries({
    toolsFolder: join(folder, "tools"),
    environment,
    logger: silentLogger,
  });

function program(path: string, script: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const native = `tools/acme/node_modules/acme-${process.platform}-${process.arch}/bin/acme`;

test("PATH comes first, then what was installed, the real program before the stub; never a project's own", async () => {
  expect(binaries().find(acme)).toBeNull();
  program("tools/acme/node_modules/.bin/acme", "exit 1");
  const real = program(native, "echo acme 3.0.0");
  expect(binaries().find(acme)).toBe(real);
  program("project/node_modules/.bin/acme", "touch hijacked");
  environment.PATH = `${join(folder, "project/node_modules/.bin")}:${environment.PATH}`;
  expect(binaries().find(acme)).toBe(real);
  const onPath = program("path/acme", "echo 1.2.3");
  chmodSync(onPath, 0o644);
  expect(binaries().find(acme)).toBe(real);
  chmodSync(onPath, 0o755);
  expect(await binaries().describe(acme)).toMatchObject({ installed: true, path: onPath, version: "1.2.3" });
});

test("a program that does not tell its version is installed all the same; logins are looked for", async () => {
  expect(await binaries().describe(acme)).toMatchObject({ installed: false, credentialsAvailable: false });
  program("path/acme", "exit 3");
  const described = await binaries().describe(acme);
  expect(described).toMatchObject({ installed: true, credentialsAvailable: false });
  expect(described).not.toHaveProperty("version");
  environment.ACME_KEY = "k";
  expect(await binaries().describe(acme)).toMatchObject({ credentialsAvailable: true });
  delete environment.ACME_KEY;
  program("home/.acme/login", "");
  expect(await binaries().describe(acme)).toMatchObject({ credentialsAvailable: true });
});

test("install runs npm without install scripts in a folder of its own, and says what went wrong", async () => {
  const install =
    'echo "$@" >> asked; mkdir -p $(dirname "$PROGRAM"); printf "#!/bin/sh\\n" > "$PROGRAM"; chmod +x "$PROGRAM"';
  program("npm/npm", install);
  vi.stubEnv("PATH", `${join(folder, "npm")}:${process.env.PATH}`);
  vi.stubEnv("PROGRAM", join(folder, native));
  await binaries().install(acme, { version: "1.0.0" });
  await binaries().install(acme, {});
  await binaries().install(acme, { version: "latest" });
  expect(binaries().find(acme)).toBe(join(folder, native));
  const asked = readFileSync(join(folder, "tools/acme/asked"), "utf8").trim().split("\n");
  expect(asked).toEqual([
    expect.stringMatching(/^install --ignore-scripts .*acme-cli@1\.0\.0$/),
    expect.stringMatching(/ acme-cli@latest$/),
  ]);
  await expect(binaries().install(acme, { version: "1; rm" })).rejects.toMatchObject({ code: "invalid_request" });
  program("npm/npm", "echo no such package >&2; exit 9");
  await expect(binaries().install(acme, { reinstall: true })).rejects.toMatchObject({
    code: "install_failed",
    message: expect.stringMatching(/code 9.*no such package/s),
  });
});

test("without a version, install takes the one that the adapter was tested with", async () => {
  program("npm/npm", 'echo "$@"; exit 9');
  vi.stubEnv("PATH", `${join(folder, "npm")}:${process.env.PATH}`);
  await expect(binaries().install(acme, {})).rejects.toThrow(/ acme-cli@0\.9\.0$/m);
});

test.each(
  adapters.flatMap(({ agent, binary }) => (binary?.install.kind === "npm" ? [{ agent, ...binary.install }] : [])),
)("$agent is tested with the version that is installed", async ({ agent, package: name, version }) => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/tools.js", "--versions"], { cwd: root });
  expect(JSON.parse(stdout)[agent]).toEqual({ package: name, version });
});

test("a program that does not say its version, and does not obey, is killed when Franca closes", async () => {
  const said = join(folder, "pid");
  program(
    "path/acme",
    `trap '' TERM INT\n/bin/echo $$ > ${said}.new; /bin/mv ${said}.new ${said}\nexec /bin/sleep 600`,
  );
  const opened = binaries();
  const described = opened.describe(acme);
  await vi.waitFor(() => expect(existsSync(said)).toBe(true), { timeout: 20_000 });
  opened.close();
  expect(await described).toMatchObject({ id: "acme", installed: true });
  const pid = Number(readFileSync(said, "utf8"));
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 20_000 });
});

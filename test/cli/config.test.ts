/** Settings: which source wins, and errors that name the key. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSettings } from "../../src/cli/config.ts";
import { parseDuration } from "../../src/cli/time.ts";
import { temporaryFolder } from "../support/folders.ts";

function withConfig(files: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const home = temporaryFolder();
  mkdirSync(join(home, "franca"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, "franca", name), text);
  return { XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
}

const load = (env: NodeJS.ProcessEnv, flags: Record<string, unknown> = {}) => loadSettings({ flags, env });

test("flags win over the environment, the environment over the file, the file over the defaults", async () => {
  const env = withConfig({ "franca.config.json": '{ "port": 1, "host": "localhost", "defaultAgent": "codex" }' });
  expect(await load(env)).toMatchObject({ port: 1, host: "localhost", store: "sqlite", logLevel: "warn" });
  const more = { ...env, FRANCA_PORT: "2", FRANCA_PASS_ENV: "A, B", FRANCA_WATCHDOG_MS: "5000" };
  expect(await load(more)).toMatchObject({ port: 2, passEnv: ["A", "B"], watchdogMs: 5000, defaultAgent: "codex" });
  expect(await load(more, { port: "3", token: false })).toMatchObject({ port: 3, token: false });
  expect((await load(env)).data).toBe(join(env.XDG_DATA_HOME ?? "", "franca"));
});

test("a config file may be JavaScript or TypeScript, and may be named", async () => {
  expect(await load(withConfig({ "franca.config.js": "export default { port: 4 };" }))).toMatchObject({ port: 4 });
  const typed = "const port: number = 5;\nexport default { port };";
  expect(await load(withConfig({ "franca.config.ts": typed }))).toMatchObject({ port: 5 });
  const env = withConfig({ "other.json": '{ "port": 6 }' });
  const config = join(env.XDG_CONFIG_HOME ?? "", "franca", "other.json");
  expect(await load(env, { config })).toMatchObject({ port: 6 });
  expect(await load({ ...env, FRANCA_CONFIG: config })).toMatchObject({ port: 6 });
});

test.each([
  [{ "franca.config.json": '{ "prot": 1 }' }, {}, {}, /franca\.config\.json: unknown key `prot`/],
  [{ "franca.config.json": '{ "port": "x" }' }, {}, {}, /franca\.config\.json: `port`/],
  [{ "franca.config.json": "{ port" }, {}, {}, /franca\.config\.json cannot be read/],
  [{}, { FRANCA_PORT: "many" }, {}, /^FRANCA_PORT: /],
  [{}, { FRANCA_LOG_LEVEL: "loud" }, {}, /^FRANCA_LOG_LEVEL: /],
  [{}, {}, { port: "70000" }, /^--port: .* from 0 to 65535/],
  [{}, {}, { port: "many" }, /^--port: .* from 0 to 65535/],
  [{}, {}, { corsAllowOrigin: ["example.com"] }, /^--cors-allow-origin: .*https:/],
  [{}, {}, { corsAllowOrigin: ["https://example.com/"] }, /^--cors-allow-origin: .*https:/],
  [{ "franca.config.json": '{ "acpCommand": "./agent" }' }, {}, {}, /`acpCommand`: \.\/agent is relative/],
  [{}, { FRANCA_ACP_COMMAND: " " }, {}, /^FRANCA_ACP_COMMAND: .*no program/],
  [{}, { FRANCA_PASS_ENV: "A=B" }, {}, /^FRANCA_PASS_ENV: .*names/],
  [{}, {}, { watchdogMs: "1" }, /^--watchdog-ms: /],
  [{}, { FRANCA_CONFIG: "/no/such/file.json" }, {}, /\/no\/such\/file\.json does not exist/],
])("%j %j %j is refused with the key's name", async (files, variables, flags, message) => {
  await expect(load({ ...withConfig(files), ...variables }, flags)).rejects.toThrow(message);
});

test("spans of time", () => {
  expect(["30s", "90m", "12h", "7d", "1.5d"].map(parseDuration)).toEqual([
    30_000, 5_400_000, 43_200_000, 604_800_000, 129_600_000,
  ]);
  expect(() => parseDuration("soon")).toThrow(/30s/);
});

/**
 * OpenCode's real TUI, started by `franca opencode` in a folder whose `tui.json` names a plugin: nothing of an
 * untrusted folder runs, also after the user answered that the folder is not trusted. In a trusted folder the plugin
 * runs, which shows that the trap works, and it finds a credential that is not the owner's token.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { franca, program as francaProgram, serve } from "../../support/daemon.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { missing, openCodeEnvironment, program } from "../../support/opencode-tui.ts";
import { describeNeeding } from "../../support/requires.ts";
import { openTerminal } from "../../support/terminal.ts";
import { root } from "../../support/transcripts.ts";

const START_MS = 60_000;

/** A folder with a plugin in each place that the TUI looks in. Each writes what it finds into `ran`. */
function makeTrap(): { readonly folder: string; readonly ran: string } {
  const base = temporaryFolder();
  const [folder, ran] = [join(base, "project"), join(base, "ran")];
  mkdirSync(join(folder, ".opencode"), { recursive: true });
  const plugin = `
    import { appendFileSync } from "node:fs";
    const note = () => appendFileSync(${JSON.stringify(ran)}, process.env.OPENCODE_SERVER_PASSWORD + "\\n");
    note();
    export default { id: "trap", tui: async () => note() };
  `;
  for (const place of [folder, join(folder, ".opencode")]) {
    writeFileSync(join(place, "trap.js"), plugin);
    writeFileSync(join(place, "tui.json"), JSON.stringify({ plugin: ["./trap.js"] }));
  }
  return { folder, ran };
}

interface Opened {
  readonly ran: string;
  readonly token: string;
  readonly terminal: ReturnType<typeof openTerminal>;
}

async function openIn({
  trust,
  agent = "mock",
}: {
  readonly trust: boolean;
  readonly agent?: string;
}): Promise<Opened> {
  const { folder, ran } = makeTrap();
  const home = temporaryFolder();
  const bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(program, join(bin, "opencode"));
  const path = `${bin}:${process.env.PATH}`;
  const { token } = await serve({ home, env: { PATH: path }, args: ["--port", "0"] });
  if (trust) expect((await franca(["trust", "add", "--force", folder], { home })).code).toBe(0);
  const terminal = openTerminal({
    command: [process.execPath, francaProgram, "opencode", "--agent", agent, "--dir", folder],
    env: {
      ...openCodeEnvironment(),
      PATH: path,
      HOME: home,
      XDG_DATA_HOME: join(home, "share"),
      XDG_CONFIG_HOME: join(home, "config"),
      FRANCA_TOKEN: token ?? "",
    },
    screens: join(root, "test-output", "opencode-tui"),
  });
  return { ran, token: token ?? "", terminal };
}

describeNeeding("OpenCode's TUI in a folder with a plugin of its own", { missing }, () => {
  test("runs nothing of a folder that is not trusted", { timeout: 2 * START_MS }, async () => {
    const { ran, terminal } = await openIn({ trust: false });
    await terminal.shows(/Ask anything/, { withinMs: START_MS });
    // A turn from beginning to end: plugins are loaded long before.
    terminal.type("echo hello");
    await terminal.shows(/echo hello/);
    terminal.press("Enter");
    await terminal.shows(/hello[\s\S]*hello/);
    expect(existsSync(ran)).toBe(false);
  });

  test("runs nothing after the answer that the folder is not trusted", { timeout: 2 * START_MS }, async () => {
    const { ran, terminal } = await openIn({ trust: false, agent: "opencode" });
    await terminal.shows(/No, start restricted/, { withinMs: START_MS });
    terminal.press("Enter");
    await terminal.shows(/Ask anything/, { withinMs: START_MS });
    terminal.type("hello");
    await terminal.shows(/hello/);
    expect(existsSync(ran)).toBe(false);
  });

  test("runs the plugin of a trusted folder, with a credential for that folder", {
    timeout: 2 * START_MS,
  }, async () => {
    const { ran, token, terminal } = await openIn({ trust: true });
    await terminal.shows(/Ask anything/, { withinMs: START_MS });
    await expect.poll(() => existsSync(ran), { timeout: START_MS }).toBe(true);
    expect(readFileSync(ran, "utf8")).not.toContain(token);
  });
});

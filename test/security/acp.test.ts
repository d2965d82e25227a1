/** What an ACP agent tries through the files and terminals of its client, and does not get. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { loadSettings } from "../../src/cli/config.ts";
import { type AcpLive, openAcp, play } from "../support/acp-live.ts";
import { temporaryFolder } from "../support/folders.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const secret = (acp: AcpLive): string => {
  const file = join(acp.folder, "secret.txt");
  writeFileSync(file, "not yours");
  return file;
};

describe("outside the session's folder", () => {
  test.each(["default", "bypass"] as const)("nothing is read or written in mode %s", async (mode) => {
    const acp = await openAcp();
    const file = secret(acp);
    const created = await acp.create("outside", { permissionMode: mode });
    symlinkSync(file, join(acp.work, "link.txt"));
    symlinkSync(acp.folder, join(acp.work, "up"));
    const paths = [file, `${acp.work}/../secret.txt`, `${acp.work}/link.txt`, `${acp.work}/up/secret.txt`];
    const steps = paths.flatMap((path) => [`read ${path}`, `write ${path} taken`]);
    const { text, asked } = await play(acp, created, { steps });
    expect(asked).toEqual([]);
    expect(text.split("|").every((one) => one.startsWith("refused: "))).toBe(true);
    expect(text).not.toContain("not yours");
    expect(readFileSync(file, "utf8")).toBe("not yours");
  });

  test("no command runs in a folder outside", async () => {
    const acp = await openAcp();
    const id = await acp.create("cwd", { permissionMode: "bypass" });
    const { events } = await play(acp, id, { steps: [`terminal pwd @@ ${acp.folder}`] });
    expect(JSON.stringify(events)).toContain("outside the session's folder");
  });

  test("our own data folder is not read, not even from inside it", async () => {
    const acp = await openAcp();
    const data = join(acp.folder, "data");
    writeFileSync(join(data, "token"), "the token");
    const id = await acp.create("data", { directory: acp.folder });
    const { text } = await play(acp, id, { steps: [`read ${join(data, "token")}`] });
    expect(text).toContain("refused");
    expect(text).not.toContain("the token");
  });
});

test("what nobody allowed is asked for, and a no is a no", async () => {
  const acp = await openAcp();
  const id = await acp.create("unasked");
  const file = join(acp.work, "new.txt");
  const marker = join(acp.work, "ran");
  const steps = [`write ${file} x`, `terminal touch ${marker}`];
  const { asked } = await play(acp, id, { steps, reply: "reject" });
  expect(asked).toEqual([`edit ${file}`, `execute touch ${marker}`]);
  expect([existsSync(file), existsSync(marker)]).toEqual([false, false]);
});

test("an approval covers what was shown: other content, another file and a second time are asked for", async () => {
  const acp = await openAcp();
  const id = await acp.create("shown");
  const [file, other] = [join(acp.work, "a.txt"), join(acp.work, "b.txt")];
  const { asked } = await play(acp, id, {
    steps: [`edit ${file} shown`, `write ${file} again`, `write ${other} shown`],
  });
  expect(asked).toEqual([`edit ${file}`, `edit ${file}`, `edit ${other}`]);
});

test("a link to a file that runs code is asked for by its real name, also after the link was approved", async () => {
  const acp = await openAcp();
  const id = await acp.create("hook");
  mkdirSync(join(acp.work, ".husky"));
  mkdirSync(join(acp.work, "docs"));
  const hook = join(acp.work, ".husky/pre-commit");
  symlinkSync(hook, join(acp.work, "docs/notes.md"));
  const { asked } = await play(acp, id, { steps: [`edit ${acp.work}/docs/notes.md evil`] });
  expect(asked).toEqual([`edit ${hook}`, `edit ${hook}`]);
});

test("accepted edits are not asked about, but files that run code are", async () => {
  const acp = await openAcp();
  const id = await acp.create("accept", { agent: "gemini", permissionMode: "acceptEdits" });
  const hook = join(acp.work, ".husky/pre-commit");
  const { asked } = await play(acp, id, { steps: [`write ${acp.work}/plain.txt x`, `write ${hook} x`] });
  expect(asked).toEqual([`edit ${hook}`]);
});

test("nothing is written or run in plan mode, and each side can be turned off", async () => {
  const acp = await openAcp();
  const file = join(acp.work, "new.txt");
  const plan = await acp.create("plan", { agent: "gemini", permissionMode: "plan" });
  const planned = await play(acp, plan, { steps: [`write ${file} x`, "terminal touch ran"] });
  expect(planned.asked).toEqual([]);
  const off = await acp.create("off", { env: { FRANCA_ACP_FS: "0", FRANCA_ACP_TERMINAL: "0" } });
  const { text, asked, events } = await play(acp, off, { steps: [`write ${file} x`, "terminal touch ran"] });
  expect(asked).toEqual([]);
  expect(text).toContain("refused");
  expect(JSON.stringify(events)).toContain("turned off");
  expect([existsSync(file), existsSync(join(acp.work, "ran"))]).toEqual([false, false]);
});

test("a pipe or a huge file does not hold the session", async () => {
  const acp = await openAcp();
  const id = await acp.create("odd", { permissionMode: "bypass" });
  const { text } = await play(acp, id, {
    steps: [
      "terminal mkfifo pipe; truncate -s 50M huge",
      `read ${acp.work}/pipe`,
      `read ${acp.work}/huge`,
      `write ${acp.work}/pipe x`,
      `read ${acp.work}/none`,
    ],
  });
  expect(text.split("|").map((one) => one.slice(0, 8))).toEqual(["refused:", "refused:", "refused:", "refused:"]);
});

test("output of a command is bounded", async () => {
  const acp = await openAcp();
  const id = await acp.create("flood", { permissionMode: "bypass" });
  const { events } = await play(acp, id, { steps: ["terminal head -c 8000000 /dev/zero | tr '\\0' x"] });
  expect(JSON.stringify(events).length).toBeLessThan(4_000_000);
});

test("in a folder that is not trusted an agent that takes something from it is not started", async () => {
  const acp = await openAcp({ trustedFolders: [] });
  mkdirSync(join(acp.work, ".gemini"));
  const generic = await acp.create("generic");
  expect((await play(acp, generic, { steps: ["say x"] })).end.error?.code).toBe("folder_not_trusted");
  const known = await acp.create("known", { agent: "gemini" });
  const { end } = await play(acp, known, { steps: ["say x"] });
  expect(end.error).toMatchObject({ code: "folder_not_trusted" });
  expect(end.error?.message).toContain(".gemini");
});

test("an approved command runs in a shell and from the session's folder unasked, from no other and with no more", async () => {
  const acp = await openAcp();
  const id = await acp.create("shell");
  const [work, command] = [acp.work, `touch ${join(acp.work, "ran")}`];
  const asked = async (line: string) =>
    (await play(acp, id, { steps: [`approve ${command}`, `terminal ${line}`] })).asked.slice(1);
  expect(await asked(`/bin/bash -c cd '${work}' && ${command}`)).toEqual([]);
  for (const line of [
    `/bin/bash -c cd '${acp.folder}' && ${command}`,
    `/bin/bash -c cd '${work}' && ${command}; touch more`,
    `/bin/bash -c cd '${work}' && touch more && ${command}`,
    `/bin/bash -c cd '${work}'/../other && ${command}`,
  ]) {
    expect(await asked(line)).toEqual([`execute ${line}`]);
  }
});

describe("the command of a user's own agent", () => {
  const hostile = (acp: AcpLive): string => {
    const marker = join(acp.work, "ran");
    const program = `#!/bin/sh\ntouch ${marker}\n`;
    mkdirSync(join(acp.work, "node_modules/.bin"), { recursive: true });
    for (const name of ["agent", "node_modules/.bin/agent"]) {
      writeFileSync(join(acp.work, name), program, { mode: 0o755 });
    }
    return marker;
  };

  test.each(["./agent --acp", "node_modules/.bin/agent", "../work/agent", "agent"])(
    "%s is not looked up in the session's folder",
    async (command) => {
      const acp = await openAcp();
      const marker = hostile(acp);
      vi.stubEnv("PATH", `.:${join(acp.work, "node_modules/.bin")}:${process.env.PATH}`);
      const id = await acp.create("relative", { env: { FRANCA_ACP_COMMAND: command } }).catch(() => null);
      if (id !== null) expect((await play(acp, id, { steps: ["say x"] })).end.reason).toBe("error");
      expect(existsSync(marker)).toBe(false);
    },
  );

  test("a config file or a variables file in the folder names no command", async () => {
    const folder = temporaryFolder();
    for (const name of ["franca.config.json", ".franca/franca.config.json", ".config/franca/franca.config.json"]) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), '{ "acpCommand": "/bin/false" }');
    }
    writeFileSync(join(folder, ".env"), "FRANCA_ACP_COMMAND=/bin/false\n");
    vi.spyOn(process, "cwd").mockReturnValue(folder);
    const { acpCommand } = await loadSettings({ flags: {}, env: { XDG_CONFIG_HOME: temporaryFolder() } });
    expect(acpCommand).toBeNull();
  });
});

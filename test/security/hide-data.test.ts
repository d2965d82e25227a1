/** An agent that runs commands must not reach the data folder, the token in it, or the daemon through it. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadSettings } from "../../src/cli/config.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { findViewProgram } from "../../src/runtime/agent/view-program.ts";
import { ensureToken } from "../../src/runtime/data-folder.ts";
import { folderName } from "../../src/runtime/folder-name.ts";
import type { Session } from "../../src/sdk/index.ts";
import { answer, call, text } from "../support/builtin.ts";
import { franca, startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";

interface Attacked extends TestDaemon {
  readonly data: string;
  readonly token: string;
  /** The folder of the session. */
  readonly work: string;
}

/** A daemon with a token, and a builtin agent whose model calls these tools one after the other. */
async function attacked(
  calls: (place: Pick<Attacked, "data" | "work">) => readonly { readonly tool: string; readonly input: unknown }[],
  options: Parameters<typeof startDaemon>[0] = {},
): Promise<Attacked> {
  const data = join(temporaryFolder(), "data");
  const work = temporaryFolder();
  const token = ensureToken(data);
  const turns = calls({ data, work }).map(({ tool, input }) => answer(call(tool, input)));
  const server = await serveAnthropic({ turns: [...turns, answer(text("done"))] });
  onTestFinished(() => server.close());
  const provider = { scripted: { kind: "anthropic" as const, baseURL: server.url, apiKey: "dummy" } };
  const permission = { bash: { "curl *": "allow" as const } };
  const builtin = { model: "scripted/model", provider, permission };
  const daemon = await startDaemon({ data, token, store: "sqlite", builtin, ...options });
  return { ...daemon, data, token, work };
}

const bash = (command: string) => ({ tool: "bash", input: { command } });

/** Runs the script, and returns what the tools returned. */
async function play(session: Session): Promise<readonly string[]> {
  const { reason } = await session.run("go");
  expect(reason).toBe("completed");
  const { events } = await session.listEvents({ limit: 1_000 });
  return events.flatMap((event) =>
    event.type === "item.completed"
      ? event.data.item.content.flatMap((part) => (part.type === "tool_result" ? [part.output] : []))
      : [],
  );
}

const bypassing = ({ client, work }: Attacked): ReturnType<TestDaemon["client"]["create"]> =>
  client.create({ agent: "builtin", directory: work, permissionMode: "bypass" });

const program = await findViewProgram();
const missing = "reason" in program ? program.reason : null;

describeNeeding("commands of an agent", { missing }, () => {
  test("an allowed curl that reads the token file gets nothing", async () => {
    const daemon = await attacked(({ data, work }) => {
      writeFileSync(join(work, "request"), `url = "file://${join(data, "token")}"\noutput = "stolen"\n`);
      return [bash("curl -sK request")];
    });
    await play(await daemon.client.create({ agent: "builtin", directory: daemon.work }));
    const stolen = join(daemon.work, "stolen");
    expect(existsSync(stolen) ? readFileSync(stolen, "utf8") : "").not.toContain(daemon.token);
  });

  test("a command cannot take the token and change the session with it", async () => {
    const daemon = await attacked(({ data, work }) => {
      const json = '-H "content-type: application/json"';
      const patch = `curl -s -X PATCH -H "authorization: Bearer $(cat ${data}/token)" ${json}`;
      return [bash(`${patch} -d '{"title": "stolen"}' "$(cat ${work}/address)"`)];
    });
    const session = await bypassing(daemon);
    writeFileSync(join(daemon.work, "address"), `${daemon.url}/v1/sessions/${session.id}`);
    await play(session);
    const { title, hideData } = await session.get();
    expect(title).not.toBe("stolen");
    expect(hideData).toEqual({ active: true });
  });

  const daemonProcess = `/proc/${process.pid}`;
  const ways: readonly [string, (data: string) => string][] = [
    ["the environment of the daemon", () => `cat ${daemonProcess}/environ`],
    ["its root folder", (data) => `cat ${daemonProcess}/root${data}/token`],
    ["its working folder", () => `ls ${daemonProcess}/cwd/`],
    ["its open files", () => `readlink ${daemonProcess}/fd/*`],
    ["its memory map", () => `cat ${daemonProcess}/maps`],
    ["its mount namespace", (data) => `nsenter -t ${process.pid} -m cat ${data}/token`],
    ["unmounting", (data) => `umount -l ${data}; cat ${data}/token`],
    ["unmounting in a new namespace", (data) => `unshare -Urm sh -c 'umount -l ${data}; cat ${data}/token'`],
    ["a link to the folder", (data) => `ln -s ${data} link; cat link/token`],
    ["a hard link", (data) => `ln ${data}/token hard; cat hard`],
  ];
  test.each(ways)("%s leads to nothing", async (_name, command) => {
    const daemon = await attacked(({ data }) => [bash(`(${command(data)}) > stolen 2> /dev/null`)]);
    await play(await bypassing(daemon));
    expect(readFileSync(join(daemon.work, "stolen"), "utf8")).toBe("");
  });

  test("files that hold the token or the database URL are hidden, also behind a link", async () => {
    const folder = temporaryFolder();
    for (const name of ["real-token", "config.json"]) writeFileSync(join(folder, name), "a-secret");
    symlinkSync("real-token", join(folder, "token"));
    const names = ["real-token", "token", "config.json"];
    const commands = names.map((name) => bash(`cat ${join(folder, name)}`));
    const read = names.map((name) => ({ tool: "read", input: { filePath: join(folder, name) } }));
    const secretFiles = [join(folder, "token"), join(folder, "config.json")];
    const daemon = await attacked(() => [...commands, ...read], { secretFiles });
    const outputs = await play(await bypassing(daemon));
    expect(outputs).toHaveLength(6);
    expect(outputs.join("\n")).not.toContain("a-secret");
  });

  test("tools and the session's own files can be read and not written, files of other sessions not", async () => {
    const own = folderName("own");
    const daemon = await attacked(({ data }) => {
      const files = ["tools/program", `attachments/${own}/file`, `outputs/${own}/file`, "attachments/other/file"];
      for (const file of files) {
        mkdirSync(join(data, file, ".."), { recursive: true });
        writeFileSync(join(data, file), file);
      }
      return files.map((file) => bash(`cat ${join(data, file)}; echo changed >> ${join(data, file)}`));
    });
    const session = await daemon.client.create({
      ...{ id: "own", agent: "builtin", directory: daemon.work, permissionMode: "bypass" },
    });
    const outputs = await play(session);
    const readOnly = (file: string) => expect.stringMatching(new RegExp(`^${file}.*Read-only file system`));
    expect(outputs).toEqual([
      readOnly("tools/program"),
      readOnly(`attachments/${own}/file`),
      readOnly(`outputs/${own}/file`),
      expect.stringMatching(/^cat: .*No such file/),
    ]);
    expect(readFileSync(join(daemon.data, "tools/program"), "utf8")).toBe("tools/program");
  });
});

test("file tools refuse the data folder in every mode, and searches leave it out", async () => {
  const daemon = await attacked(({ data }) => [
    { tool: "read", input: { filePath: join(data, "token") } },
    { tool: "write", input: { filePath: join(data, "token"), content: "mine" } },
    { tool: "list", input: { path: data } },
    { tool: "list", input: { path: join(data, "..") } },
    { tool: "glob", input: { pattern: "**/token", path: join(data, "..") } },
    { tool: "grep", input: { pattern: ".", path: join(data, "..") } },
  ]);
  const refused = expect.stringContaining("one of Franca's own files");
  expect(await play(await bypassing(daemon))).toEqual([
    ...[refused, refused, refused],
    "(the folder is empty)",
    "No file matches.",
    "No line matches.",
  ]);
  expect(readFileSync(join(daemon.data, "token"), "utf8").trim()).toBe(daemon.token);
});

test("--hide-data off: commands see the data folder, and the session says so", async () => {
  const daemon = await attacked(({ data }) => [bash(`wc -c < ${data}/token`)], { hideData: "off" });
  const session = await bypassing(daemon);
  expect((await play(session)).join("")).toContain("44");
  expect((await session.get()).hideData).toEqual({ active: false, reason: "It is turned off (--hide-data off)." });
});

test("--hide-data require: without a program that hides the folder no session is created", async () => {
  const home = temporaryFolder();
  const env = { PATH: join(home, "nothing") };
  const required = await franca(["run", "--hide-data", "require", "--agent", "mock", "--", "echo hi"], { home, env });
  expect([required.code, required.stderr]).toEqual([1, expect.stringMatching(/cannot be hidden from .* installed/s)]);
  const auto = await franca(["run", "--agent", "mock", "--", "echo hi"], { home, env });
  expect(auto.stdout).toBe("hi\n");
});

test("the files to hide follow from flags, variables and the config file", async () => {
  const home = temporaryFolder();
  const [tokenFile, urlFile] = [join(home, "token"), join(home, "url")];
  const [plain, secret] = [join(home, "plain.json"), join(home, "secret.json")];
  writeFileSync(tokenFile, "a-token");
  writeFileSync(urlFile, "postgres://localhost/franca");
  writeFileSync(plain, JSON.stringify({ port: 1 }));
  writeFileSync(secret, JSON.stringify({ token: "a-token" }));
  const filesOf = async (flags: Record<string, string>, env: Record<string, string> = {}) =>
    (await loadSettings({ flags, env: { HOME: home, XDG_CONFIG_HOME: join(home, "none"), ...env } })).secretFiles;
  expect(await filesOf({ config: plain })).toEqual([]);
  expect(await filesOf({ config: secret })).toEqual([secret]);
  expect(await filesOf({ tokenFile }, { FRANCA_DATABASE_URL_FILE: urlFile })).toEqual([urlFile, tokenFile]);
});

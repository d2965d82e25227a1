/** An agent that runs commands must not reach the data folder, the token in it, or the daemon through it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { ensureToken } from "../../src/runtime/data-folder.ts";
import type { Session } from "../../src/sdk/index.ts";
import { answer, call, text } from "../support/builtin.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

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

async function runTurn(session: Session): Promise<{ reason: string; events: string }> {
  const { reason } = await session.run("go");
  const { events } = await session.listEvents({ limit: 1_000 });
  const results = events.flatMap((event) =>
    event.type === "item.completed"
      ? event.data.item.content.flatMap((part) => (part.type === "tool_result" ? [part.output] : []))
      : [],
  );
  return { reason, events: results.join("\n") };
}

test("an allowed curl that reads the token file gets nothing", async () => {
  const daemon = await attacked(({ data, work }) => {
    writeFileSync(join(work, "request"), `url = "file://${join(data, "token")}"\noutput = "stolen"\n`);
    return [bash("curl -sK request")];
  });
  const session = await daemon.client.create({ agent: "builtin", directory: daemon.work });
  await runTurn(session);
  const stolen = join(daemon.work, "stolen");
  expect(existsSync(stolen) ? readFileSync(stolen, "utf8") : "").not.toContain(daemon.token);
});

test("a command cannot take the token and change the session with it", async () => {
  const daemon: Attacked = await attacked(({ data, work }) => {
    const patch = `curl -s -X PATCH -H "authorization: Bearer $(cat ${data}/token)" -H "content-type: application/json"`;
    return [bash(`${patch} -d '{"title": "stolen"}' "$(cat ${work}/address)"`)];
  });
  const session = await daemon.client.create({ agent: "builtin", directory: daemon.work, permissionMode: "bypass" });
  writeFileSync(join(daemon.work, "address"), `${daemon.url}/v1/sessions/${session.id}`);
  await runTurn(session);
  expect((await session.get()).title).not.toBe("stolen");
});

test.each(["environ", "root", "cwd", "fd"])("/proc/<daemon>/%s leads a command to nothing", async (entry) => {
  const name = "FRANCA_TEST_SECRET";
  process.env[name] = "held-by-the-daemon";
  onTestFinished(() => void delete process.env[name]);
  const daemon = await attacked(({ data, work }) => {
    const ways = {
      environ: `cat /proc/${process.pid}/environ > stolen`,
      root: `cat /proc/${process.pid}/root${data}/token > stolen`,
      cwd: `ls /proc/${process.pid}/cwd/ > stolen`,
      fd: `readlink /proc/${process.pid}/fd/* > stolen`,
    };
    writeFileSync(join(work, "stolen"), "");
    return [bash(Object.entries(ways).find(([way]) => way === entry)?.[1] ?? "false")];
  });
  const session = await daemon.client.create({ agent: "builtin", directory: daemon.work, permissionMode: "bypass" });
  await runTurn(session);
  expect(readFileSync(join(daemon.work, "stolen"), "utf8")).toBe("");
});

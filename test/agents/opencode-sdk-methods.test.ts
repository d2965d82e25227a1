/**
 * Every method of OpenCode's SDK against the real server and against Franca, with the mock and with the OpenCode agent.
 * Where the answers differ in kind, the table of operations says so. The whole comparison is kept in test-output.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { operationTable } from "../../src/server/opencode/index.ts";
import { startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { type Api, openCodeApi } from "../support/opencode-client.ts";
import { says } from "../support/opencode-lab.ts";
import { besideNative } from "../support/opencode-native.ts";
import { type Called, callAll, type Target } from "../support/opencode-sdk-methods.ts";
import { opencodeEnvironment } from "../support/opencode-trial.ts";
import { describeNeeding } from "../support/requires.ts";
import { root } from "../support/transcripts.ts";

const program = process.env.FRANCA_TEST_OPENCODE ?? "";
const missing = program === "" ? "OpenCode was not found" : null;

async function targetOf(api: Api, given: Omit<Target, "session" | "message">): Promise<Target> {
  const { body: session } = await api.post("/session", { title: "SDK" });
  const prompt = { model: given.model, parts: [{ type: "text", text: "echo hello" }] };
  await api.post(`/session/${session.id}/message`, prompt);
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  return { ...given, session: session.id, message: messages[0].info.id };
}

/** Answered, refused for what was asked, or not done at all. */
function kindOf(status: number): "answers" | "refuses" | "fails" {
  if (status >= 200 && status < 300) return "answers";
  return status >= 400 && status < 500 ? "refuses" : "fails";
}

/** What the documentation says of an operation; empty where it is said to be as native. */
const saidOf = (operation: string | null): string =>
  operationTable.find((one) => one.operation === operation)?.why ?? "";

describeNeeding("OpenCode's SDK", { missing }, () => {
  test("every method answers as native does, or has a line in the table", { timeout: 600_000 }, async () => {
    const beside = await besideNative({ program });
    const { directory, model: server } = beside;
    // OpenCode beside the daemon, and its agent, have folders of their own too.
    const mine = opencodeEnvironment({ folder: temporaryFolder(), url: server.url }, { permission: { edit: "allow" } });
    const before = { ...process.env };
    Object.assign(process.env, mine);
    onTestFinished(() => {
      for (const name of Object.keys(mine)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    });
    beside.load(says("hello"));
    const runs: Record<string, readonly Called[]> = {};
    const run = async (name: string, baseUrl: string, model: Target["model"]): Promise<void> => {
      const api = openCodeApi(baseUrl, { directory });
      runs[name] = await callAll(await targetOf(api, { baseUrl, directory, model }));
    };
    await run("native", beside.environment.OPENCODE_SERVER_URL ?? "", { providerID: "lab", modelID: "scripted" });
    await run("mock", beside.base, { providerID: "mock", modelID: "default" });
    const own = await startDaemon({ defaultAgent: "opencode", trustedFolders: [directory] });
    await run("opencode", `${own.url}/opencode`, { providerID: "opencode", modelID: "lab/scripted" });
    report(runs);
    const count = (version: string): number => (runs.native ?? []).filter((one) => one.version === version).length;
    // All of them but `upgrade`: whatever the SDK has beside these is new, and has to be looked at.
    expect([count("v1"), count("v2")]).toEqual([83, 187]);
    expect(unsaid(runs)).toEqual([]);
  });
});

const isSame = (one: Called | undefined, other: Called): boolean => {
  if (one?.status !== other.status) return false;
  if (kindOf(other.status) !== "answers" || one.shape === other.shape) return true;
  const shorter = [one.shape, other.shape].sort((a, b) => a.length - b.length);
  return shorter[0] === "list" && shorter[1]?.startsWith("list") === true;
};

function unsaid({ native = [], ...others }: Record<string, readonly Called[]>): string[] {
  return Object.entries(others).flatMap(([name, called]) =>
    called.flatMap((here, index) => {
      const there = native[index];
      if (isSame(there, here) || saidOf(here.operation) !== "") return [];
      const shapes = there?.status === here.status ? `: ${there.shape}, ${here.shape}` : "";
      return [`${name} ${here.version} ${here.method} ${here.operation}: ${there?.status}, ${here.status}${shapes}`];
    }),
  );
}

function report(runs: Record<string, readonly Called[]>): void {
  const { native = [], mock = [], opencode = [] } = runs;
  const lines = native.map(({ version, method, operation, status }, index) => {
    const said = saidOf(operation);
    return `| ${version} | ${method} | ${operation} | ${status} | ${mock[index]?.status} | ${opencode[index]?.status} | ${said} |`;
  });
  const counts = Object.entries(runs).flatMap(([name, called]) =>
    ["v1", "v2"].map((version) => {
      const all = called.filter((one) => one.version === version);
      return `${name} ${version}: ${all.filter(({ status }) => kindOf(status) === "answers").length} of ${all.length}`;
    }),
  );
  for (const [name, called] of [["mock", mock] as const, ["opencode", opencode] as const]) {
    const same = called.filter((one, index) => isSame(native[index], one)).length;
    counts.push(`${name}: ${same} of ${called.length} as native, ${called.length - same} with a line in the table`);
  }
  const folder = join(root, "test-output");
  mkdirSync(folder, { recursive: true });
  const head = ["| SDK | method | operation | native | mock | OpenCode agent | |", "|---|---|---|---|---|---|---|"];
  writeFileSync(join(folder, "opencode-sdk-methods.md"), [...counts, "", ...head, ...lines, ""].join("\n"));
}

/** A deny wins over everything that approves by itself, and "always" is exactly what was shown. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { connect } from "../../src/sdk/index.ts";
import { franca, serve, startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";

const deny = { permission: "bash", pattern: "npm *", action: "deny" } as const;

test("a plugin's deny wins over --auto-approve without a daemon, also when it takes its time", async () => {
  const home = temporaryFolder();
  const source = `export const p = () => ({
    "permission.ask": async (input, out) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (input.type === "bash") out.status = "deny";
    },
  })`;
  writeFileSync(join(home, "deny.mjs"), source);
  writeFileSync(join(home, "config.json"), JSON.stringify({ plugins: ["./deny.mjs"] }));
  const args = ["run", "--agent", "mock", "--auto-approve", "--", "permission"];
  const { stdout } = await franca(args, { home, env: { FRANCA_CONFIG: join(home, "config.json") } });
  expect(stdout).toContain("bash was rejected, edit was allowed");
});

test("a rule's deny wins over unattended: allow and over an always", async () => {
  const { client } = await startDaemon();
  const session = await client.create({
    agent: "mock",
    directory: temporaryFolder(),
    unattended: { policy: "allow" },
    permissionRules: [deny],
  });
  const events: UniversalEvent[] = [];
  for await (const event of session.ask("permission")) events.push(event);
  const resolved = events.flatMap((event) => (event.type === "permission.resolved" ? [event] : []));
  expect(resolved.map(({ data, cause }) => [data.action, data.status, cause.rule])).toEqual([
    ["bash", "reject", "permission_rules.deny"],
    ["edit", "accept", "unattended.allow"],
  ]);
});

test("rules that deny are rejected in bypass, when a session is created and when it is changed", async () => {
  const { client } = await startDaemon();
  const directory = temporaryFolder();
  const bypass = { agent: "mock", directory, permissionMode: "bypass" } as const;
  await expect(client.create({ ...bypass, permissionRules: [deny] })).rejects.toThrow(/does not ask in .* bypass/);
  const session = await client.create({ agent: "mock", directory, permissionRules: [deny] });
  await expect(session.update({ permissionMode: "bypass" })).rejects.toThrow(/does not ask in .* bypass/);
  const open = await client.create(bypass);
  await expect(open.update({ permissionRules: [deny] })).rejects.toThrow(/does not ask in .* bypass/);
});

/** Plays the mock's scenario and gives what users were asked. */
async function asked(
  session: Awaited<ReturnType<ReturnType<typeof connect>["create"]>>,
  prompt: string,
  reply: "always" | "reject",
): Promise<string[]> {
  const patterns: string[] = [];
  for await (const event of session.ask(prompt)) {
    if (event.type !== "permission.requested") continue;
    patterns.push(...event.data.metadata.patterns);
    await session.replyPermission(event.data.permission_id, reply);
  }
  return patterns;
}

test("always is the exact command and file, and survives a restart of the daemon", async () => {
  const home = temporaryFolder();
  const directory = temporaryFolder();
  const first = await serve({ home, args: ["--port", "0"] });
  const client = connect({ url: first.url, token: first.token ?? "" });
  const session = await client.create({ id: "kept", agent: "mock", directory });
  expect(await asked(session, "permission npm test", "always")).toHaveLength(2);
  expect(await asked(session, "permission npm test", "reject")).toEqual([]);
  expect(await asked(session, "permission npm test --other", "reject")).toEqual(["npm test --other"]);
  first.child.kill("SIGTERM");
  await once(first.child, "exit");

  const second = await serve({ home, args: ["--port", "0"] });
  const again = connect({ url: second.url, token: second.token ?? "" }).session("kept");
  const patterns: string[] = [];
  for await (const event of again.ask("permission npm test")) {
    if (event.type === "permission.requested") patterns.push(...event.data.metadata.patterns);
  }
  expect(patterns).toEqual([]);
});

test("a scope that the request does not offer is refused with the list, and the request stays open", async () => {
  const { client } = await startDaemon();
  const session = await client.create({ agent: "mock", directory: temporaryFolder() });
  const errors: string[] = [];
  const statuses: string[] = [];
  for await (const event of session.ask("permission git log")) {
    if (event.type === "permission.resolved") statuses.push(event.data.status);
    if (event.type !== "permission.requested") continue;
    const { permission_id } = event.data;
    await session.replyPermission(permission_id, "always", { scope: "rm *" }).catch((error: unknown) => {
      errors.push(String(error));
    });
    await session.replyPermission(permission_id, "reject");
  }
  expect(errors).toHaveLength(2);
  expect(errors[0]).toMatch(/does not offer the scope "rm \*"\. It offers/);
  expect(statuses).toEqual(["reject", "reject"]);
});

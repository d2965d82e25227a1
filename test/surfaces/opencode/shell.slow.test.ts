/** Commands that a person types (`!ls` in the TUI): run beside the agent, recorded as theirs, refused where unsafe. */
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { misfits, openCodeProblems } from "../../support/dialects.ts";
import { isIdle, listen, openCodeApi } from "../../support/opencode-client.ts";
import { openSurface, text } from "../../support/opencode-surface.ts";
import { eventually, processesIn } from "../../support/processes.ts";

const typed = (command: string) => ({ agent: "build", command });

test("a command runs, is rendered as OpenCode does, recorded as the user's, and shown to the agent", async () => {
  const { api, base, daemon, directory } = await openSurface();
  writeFileSync(join(directory, "here.txt"), "");
  const { body: session } = await api.post("/session", {});
  const listener = await listen(base, { directory });
  const command = "ls here.txt; echo oops >&2; exit 3";
  const { status, body } = await api.post(`/session/${session.id}/shell`, { ...typed(command), messageID: "msg_mine" });
  expect(status).toBe(200);
  expect(body.info).toMatchObject({ role: "assistant", parentID: "msg_mine", providerID: "mock" });
  const tool = body.parts.find(({ type }: { type: string }) => type === "tool");
  expect(tool).toMatchObject({ tool: "bash", state: { status: "completed", input: { command } } });
  expect(tool.state.output.split("\n").sort()).toEqual(["", "here.txt", "oops"]);
  expect(tool.state.metadata).toMatchObject({ exit: 3 });
  await listener.until(isIdle(session.id));
  const events = listener.heard.map(({ event }) => event).filter(({ type }) => type !== "server.connected");
  expect(events.flatMap(misfits)).toEqual([]);
  expect(openCodeProblems(events)).toEqual([]);
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  expect(messages[0].parts).toMatchObject([
    { type: "text", text: "The following tool was executed by the user", synthetic: true },
  ]);
  const own = daemon.client.session(session.id);
  const { items } = await own.get();
  expect(items.map(({ kind, role }) => `${kind} ${role}`)).toEqual([
    "message user",
    "tool_call user",
    "tool_result tool",
  ]);
  const answer = await api.post(`/session/${session.id}/message`, text("echo and now"));
  expect(JSON.stringify(answer.body.parts)).toContain("here.txt");
  const again = await api.post(`/session/${session.id}/message`, text("echo and later"));
  expect(JSON.stringify(again.body.parts)).not.toContain("here.txt");
});

test("an abort ends the command with all it started, and a prompt that came meanwhile runs", async () => {
  const { api, base, daemon, directory } = await openSurface();
  const folder = join(realpathSync(directory), "inner");
  mkdirSync(folder);
  const { body: session } = await api.post("/session", {});
  const listener = await listen(base, { directory });
  const running = api.post(`/session/${session.id}/shell`, typed("cd inner; sleep 600 & echo begun; sleep 600"));
  await listener.until(({ properties }) => JSON.stringify(properties).includes("begun\\n"));
  expect((await api.post(`/session/${session.id}/shell`, typed("echo no"))).status).toBe(409);
  expect((await api.post(`/session/${session.id}/prompt_async`, text("echo after"))).status).toBe(204);
  expect(processesIn(folder).length).toBeGreaterThan(0);
  await daemon.client.session(session.id).abort();
  const { body } = await running;
  expect(body.info.error.name).toBe("MessageAbortedError");
  expect(processesIn(folder)).toEqual([]);
  await listener.until(({ properties }) => JSON.stringify(properties).includes("begun\\n(stopped)"));
  await listener.until(
    ({ type, properties }) => type === "message.part.updated" && /after/.test(JSON.stringify(properties)),
  );
});

test("output is bounded, and a session that is deleted takes its command with it", async () => {
  const { api, directory, daemon } = await openSurface();
  const { body: session } = await api.post("/session", {});
  const { body } = await api.post(`/session/${session.id}/shell`, typed("head -c 400000 /dev/zero | tr '\\0' x"));
  const { output } = body.parts.find(({ type }: { type: string }) => type === "tool").state;
  expect(output.length).toBeLessThan(31_000);
  expect(output).toContain("[… 370000 characters left out …]");
  const folder = join(realpathSync(directory), "inner");
  mkdirSync(folder);
  const running = api.post(`/session/${session.id}/shell`, typed("cd inner; sleep 600"));
  await eventually(() => processesIn(folder).length > 0, { withinMs: 10_000 });
  await daemon.client.session(session.id).delete();
  await running;
  expect(processesIn(folder)).toEqual([]);
});

test("plan mode and folders that are not trusted refuse, visibly, and nothing runs", async () => {
  const { api, base, daemon, directory } = await openSurface();
  const { body: planned } = await api.post("/session", { agent: "plan" });
  const listener = await listen(base, { directory });
  const inPlan = await api.post(`/session/${planned.id}/shell`, { agent: "plan", command: "touch planned" });
  expect(inPlan).toMatchObject({ status: 400, body: { data: { message: expect.stringContaining("plan mode") } } });
  const shown = await listener.until(({ type }) => type === "session.error");
  expect(shown.properties).toMatchObject({ sessionID: planned.id });
  expect(existsSync(join(directory, "planned"))).toBe(false);
  // A repository inside of a trusted folder is trusted by itself, and a link to it is the folder that it leads to.
  const foreign = join(directory, "foreign");
  mkdirSync(join(foreign, ".git"), { recursive: true });
  symlinkSync(foreign, join(directory, "link"));
  for (const place of [foreign, join(directory, "link")]) {
    const there = openCodeApi(base, { directory: place });
    const { body: session } = await there.post("/session", {});
    const refused = await there.post(`/session/${session.id}/shell`, typed("touch ran"));
    expect(refused.status).toBe(403);
    expect(existsSync(join(foreign, "ran"))).toBe(false);
    expect((await daemon.client.session(session.id).get()).items).toEqual([]);
  }
});

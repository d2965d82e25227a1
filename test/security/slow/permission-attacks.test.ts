/**
 * Commands and edits that try to get past permission rules, with the real agents and scripted models. Nothing that a
 * rule denies or leaves to the user may happen while the user rejects everything that is asked.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ScriptTurn } from "../../../src/model-server/script.ts";
import type { UniversalEvent } from "../../../src/protocol/events.ts";
import type { PermissionRule } from "../../../src/protocol/resources.ts";
import { openReal, type RealAgent, ran, realAgents } from "../../support/acp-real.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { describeNeeding } from "../../support/requires.ts";
import { type AgentName, agentNames, calls, missing, says, serveAgent } from "../../support/security-agents.ts";

const rule = (permission: string, pattern: string, action: PermissionRule["action"]): PermissionRule => ({
  permission,
  pattern,
  action,
});

interface Attack {
  readonly name: string;
  readonly rules: readonly PermissionRule[];
  /** Command lines; `OUTSIDE` is a folder outside the session's. */
  readonly commands: readonly string[];
  /** A command that the rules allow: it runs without a question. */
  readonly control: string;
}

const attacks: readonly Attack[] = [
  {
    name: "everything but touch",
    rules: [rule("bash", "*", "allow"), rule("bash", "touch *", "deny")],
    commands: [
      "touch made $(echo x)",
      "bash <<'EOF'\ntouch made\nEOF",
      "echo `touch made`",
      "A=1 touch made",
      "sh -c 'touch made'",
    ],
    control: "ls -a",
  },
  {
    name: "only echo",
    rules: [rule("bash", "*", "ask"), rule("bash", "echo *", "allow")],
    commands: ["echo pwned > OUTSIDE/made", "echo 'echo 1 > made' | sh", "echo $(echo 1 > made)"],
    control: "echo hello",
  },
  {
    name: "only git status",
    rules: [rule("bash", "*", "ask"), rule("bash", "git status*", "allow")],
    commands: ["cd sub && git status", "git -c core.fsmonitor='touch made' status"],
    control: "git status --short",
  },
];

/** The model's call for a command, such that the agent asks before it runs it. */
function commandCall(agent: AgentName, command: string): ScriptTurn {
  switch (agent) {
    case "claude":
      return calls("Bash", { command, description: "Try" });
    case "codex":
      return calls("exec_command", { cmd: command, sandbox_permissions: "require_escalated", justification: "Try." });
    case "opencode":
      return calls("bash", { command, description: "Try" });
  }
}

interface Places {
  readonly work: string;
  readonly outside: string;
}

/** A repository whose subfolder is another one, which runs a program at every `git status`. */
function makeRepository(folder: string): Places {
  const [work, outside] = [join(folder, "work"), join(folder, "outside")];
  for (const path of [join(work, "src"), join(work, "sub"), outside]) mkdirSync(path, { recursive: true });
  writeFileSync(join(work, "README.md"), "# Demo\n");
  for (const path of [work, join(work, "sub")]) execFileSync("git", ["init", "-q", path]);
  execFileSync("git", ["-C", join(work, "sub"), "config", "core.fsmonitor", `touch ${join(outside, "made")}`]);
  symlinkSync(join(outside, "made"), join(work, "src", "outside.txt"));
  symlinkSync(join(work, ".git", "hooks", "post-merge"), join(work, "src", "hook.txt"));
  return { work, outside };
}

const wasMade = ({ work, outside }: Places): string[] =>
  [
    join(work, "made"),
    join(work, "sub", "made"),
    join(outside, "made"),
    join(work, ".git", "hooks", "post-merge"),
  ].filter((path) => existsSync(path));

const requested = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => (event.type === "permission.requested" ? [JSON.stringify(event.data.metadata.input)] : []));

/** Who answered each request: a rule, or null for the user. */
const answeredBy = (events: readonly UniversalEvent[]): (string | undefined)[] =>
  events.flatMap((event) => (event.type === "permission.resolved" ? [event.cause.rule] : []));

describeNeeding("real agents behind a daemon", { missing: null }, () => {
  for (const agent of agentNames) {
    describeNeeding(agent, { missing: missing(agent) }, () => {
      test.each(attacks)("$name", async ({ rules, commands, control }) => {
        const home = realpathSync(temporaryFolder());
        const places = makeRepository(home);
        const lines = [...commands.map((line) => line.replaceAll("OUTSIDE", places.outside)), control];
        const turns = [...lines.map((line) => commandCall(agent, line)), says("Done.")];
        const { client, env } = await serveAgent(agent, { home, turns });
        await client.addTrust(places.work, { force: true });
        const session = await client.create({
          agent,
          directory: places.work,
          env: { ...env },
          permissionRules: [...rules],
        });
        const events: UniversalEvent[] = [];
        for await (const event of session.ask("Go on.")) {
          events.push(event);
          if (event.type !== "permission.requested") continue;
          await session.replyPermission(event.data.permission_id, "reject", { message: "No." }).catch(() => undefined);
        }
        expect(wasMade(places)).toEqual([]);
        expect(answeredBy(events).filter((by) => by === "permission_rules.allow").length).toBeLessThanOrEqual(1);
        expect(requested(events).join("\n")).toContain(JSON.stringify(commands[0]?.split(" ")[0]).slice(1, -1));
      });
    });
  }
});

const editCalls: Readonly<Partial<Record<AgentName, (path: string) => ScriptTurn>>> = {
  claude: (path) => calls("Write", { file_path: path, content: "#!/bin/sh\n" }),
  opencode: (path) => calls("write", { filePath: path, content: "#!/bin/sh\n" }),
};

for (const agent of agentNames) {
  const edit = editCalls[agent];
  if (edit === undefined) continue;
  describeNeeding(`${agent}: links in the repository`, { missing: missing(agent) }, () => {
    test.each([
      ["a rule for edits in src", { permissionRules: [rule("edit", "*", "ask"), rule("edit", "src/*", "allow")] }],
      ["the mode acceptEdits", { permissionMode: "acceptEdits" as const }],
    ])("%s", async (_name, settings) => {
      const home = realpathSync(temporaryFolder());
      const places = makeRepository(home);
      const paths = ["outside.txt", "hook.txt", "plain.txt"].map((name) => join(places.work, "src", name));
      const { client, env } = await serveAgent(agent, { home, turns: [...paths.map(edit), says("Done.")] });
      await client.addTrust(places.work, { force: true });
      const session = await client.create({ agent, directory: places.work, env: { ...env }, ...settings });
      for await (const event of session.ask("Go on.")) {
        if (event.type !== "permission.requested") continue;
        await session.replyPermission(event.data.permission_id, "reject", { message: "No." }).catch(() => undefined);
      }
      expect(wasMade(places)).toEqual([]);
      expect(readFileSync(join(places.work, "src", "plain.txt"), "utf8")).toBe("#!/bin/sh\n");
    });
  });
}

for (const agent of agentNames) {
  describeNeeding(`${agent}: always`, { missing: missing(agent) }, () => {
    test("is the exact command", async () => {
      const home = realpathSync(temporaryFolder());
      const places = makeRepository(home);
      const lines = ["touch a.txt", "touch a.txt", "touch a.txt $(touch made)", "touch made"];
      const turns = [...lines.map((line) => commandCall(agent, line)), says("Done.")];
      const { client, env } = await serveAgent(agent, { home, turns });
      await client.addTrust(places.work, { force: true });
      const permissionRules = [rule("bash", "*", "ask")];
      const session = await client.create({ agent, directory: places.work, env: { ...env }, permissionRules });
      const asked: unknown[] = [];
      for await (const event of session.ask("Go on.")) {
        if (event.type !== "permission.requested") continue;
        const { permission_id, metadata } = event.data;
        asked.push(metadata.patterns[0]);
        const isFirst = metadata.patterns[0] === lines[0];
        await session.replyPermission(permission_id, isFirst ? "always" : "reject", isFirst ? {} : { message: "No." });
      }
      expect(asked).toEqual([lines[0], lines[2], lines[3]]);
      expect(wasMade(places)).toEqual([]);
    });
  });
}

const variable = (name: string): string | undefined =>
  process.env[`FRANCA_TEST_${name.toUpperCase().replaceAll("-", "_")}`];

const acpAgents: readonly RealAgent[] = realAgents.filter(({ agent }) => agent === "claude-acp" || agent === "gemini");

for (const real of acpAgents) {
  const [program, node] = [variable(real.agent), variable("node")];
  const reason = program === undefined || node === undefined ? `${real.agent} is not installed` : null;
  describeNeeding(real.agent, { missing: reason }, () => {
    test.each(attacks)("$name", async ({ rules, commands, control }) => {
      const outside = realpathSync(temporaryFolder());
      const lines = [...commands.map((line) => line.replaceAll("OUTSIDE", outside)), control];
      const call = (line: string): ScriptTurn => {
        const { name, input } = real.command(line);
        return calls(name, input);
      };
      const opened = await openReal(real, {
        program: program ?? "",
        node: node ?? "",
        scripts: () => Object.fromEntries(lines.map((line, index) => [`STEP${index}`, [call(line), says("Done.")]])),
      });
      try {
        const places = { work: opened.work, outside };
        mkdirSync(join(places.work, "sub"));
        for (const path of [places.work, join(places.work, "sub")]) execFileSync("git", ["init", "-q", path]);
        execFileSync("git", ["-C", join(places.work, "sub"), "config", "core.fsmonitor", `touch ${outside}/made`]);
        // One session for each command: a rejection ends the turn of some agents.
        for (const index of lines.keys()) {
          const id = await opened.create(`attack-${index}`, {}, { permissionRules: [...rules] });
          await ran(opened, id, { text: `STEP${index}`, reply: "reject" });
        }
        expect(wasMade(places)).toEqual([]);
      } finally {
        await opened.close();
      }
    });
  });
}

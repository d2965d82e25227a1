/** Claude Code in `acceptEdits`: Franca answers for ordinary edits, and a person for files that run code. */
import { describe, expect, test } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import type { FolderFacts } from "../../src/core/launch.ts";
import type { PermissionMode } from "../../src/protocol/events.ts";
import { launchOptions, liveSession } from "../support/live-session.ts";

const directory = "/workspace";
const rules = { rules: [], directory };
const trusted: FolderFacts = { path: directory, gitRoot: null, trusted: true, found: [], gitEnvironment: {} };
const init = { type: "system", subtype: "init", session_id: "n", model: "m", permissionMode: "default", tools: [] };

/** What the CLI asks before an edit in its mode `default`; it offers `acceptEdits` for ordinary edits only. */
const asks = (id: string, path: string, suggestions: readonly unknown[] = [acceptEdits]) => ({
  type: "control_request",
  request_id: id,
  request: {
    subtype: "can_use_tool",
    tool_name: "Write",
    input: { file_path: path, content: "x" },
    tool_use_id: `call-${id}`,
    permission_suggestions: suggestions,
  },
});
const acceptEdits = { type: "setMode", mode: "acceptEdits", destination: "session" };

function opened(mode: PermissionMode, folder: FolderFacts = trusted) {
  const live = liveSession(claude, { permissionRules: rules });
  const metadata = { agent: "claude", agent_version: null, model: null, directory, permission_mode: mode, tools: [] };
  live.step({ type: "opened", metadata });
  live.prompt("Write it");
  live.connect({ permission_mode: mode, folder });
  live.hear(init);
  return live;
}

/** What the CLI was answered for a request; null while a person is asked. */
function answerTo(live: ReturnType<typeof opened>, id: string): unknown {
  const lines = live.effects.flatMap((effect) => (effect.type === "send.line" ? [JSON.stringify(effect.line)] : []));
  const line = lines.find((text) => text.includes(`"request_id":"${id}"`));
  return line === undefined ? null : JSON.parse(line).response.response.behavior;
}

test("the CLI is started in its asking mode, and the session stays in the mode that was asked for", () => {
  const live = opened("acceptEdits");
  expect(live.session.snapshot().permission_mode).toBe("acceptEdits");
  const launch = claude.launch({ ...launchOptions, permission_mode: "acceptEdits" });
  expect(launch.kind === "process" && launch.args.join(" ")).toContain("--permission-mode default");
});

test("an ordinary edit inside the directory is allowed without a request", () => {
  const live = opened("acceptEdits");
  live.hear(asks("R1", "/workspace/src/a.ts"));
  expect(answerTo(live, "R1")).toBe("allow");
  expect(live.of("permission.requested")).toEqual([]);
});

describe("a person is asked", () => {
  test.each([
    ["a hook of git", "/workspace/.git/hooks/pre-commit"],
    ["settings of the agent", "/workspace/.claude/settings.json"],
    ["a workflow, under another spelling", "/workspace/src/../.GitHub/workflows/ci.yml"],
    ["a file outside", "/workspace/../home/.bashrc"],
    ["a sibling whose name begins alike", "/workspace2/a.ts"],
  ])("%s", (_what, path) => {
    const live = opened("acceptEdits");
    live.hear(asks("R1", path));
    expect(answerTo(live, "R1")).toBeNull();
    expect(live.of("permission.requested")).toHaveLength(1);
  });

  test("in a folder that is not trusted, where a link may lead anywhere", () => {
    const live = opened("acceptEdits", { ...trusted, trusted: false });
    live.hear(asks("R1", "/workspace/a.ts"));
    expect(answerTo(live, "R1")).toBeNull();
  });

  test("in the mode default", () => {
    const live = opened("default");
    live.hear(asks("R1", "/workspace/a.ts"));
    expect(answerTo(live, "R1")).toBeNull();
  });
});

test("what the CLI offers does not count: only the real path does", () => {
  const live = opened("acceptEdits");
  live.hear(asks("R1", "/workspace/a.ts", []), asks("R2", "/workspace/.git/hooks/pre-commit", [acceptEdits]));
  expect([answerTo(live, "R1"), answerTo(live, "R2")]).toEqual(["allow", null]);
});

test("always for an edit is Franca's to keep, and is only the same file", () => {
  const live = opened("default");
  live.hear(asks("R1", "/workspace/a.ts"));
  const [request] = live.of("permission.requested");
  expect(request?.data.metadata.patterns).toEqual(["/workspace/a.ts"]);
  const permission_id = request?.data.permission_id;
  if (permission_id !== undefined) live.command({ type: "permission.reply", permission_id, reply: "always" });
  expect(JSON.stringify(live.effects)).not.toContain("updatedPermissions");
  live.hear(asks("R2", "/workspace/a.ts"), asks("R3", "/workspace/b.ts"), asks("R4", "/workspace/.husky/pre-push"));
  expect(["R1", "R2", "R3", "R4"].map((id) => answerTo(live, id))).toEqual(["allow", "allow", null, null]);
});

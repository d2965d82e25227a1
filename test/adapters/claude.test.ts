/** Claude Code without its binary: guard and schema agree, commands are written as the CLI wants them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { isClaudeLine } from "../../src/dialects/claude-guard.ts";
import { ClaudeLineSchema } from "../../src/dialects/claude-schema.ts";
import { driven } from "../support/claude-driven.ts";
import { plainOptions } from "../support/launch-options.ts";
import { transcriptsOf } from "../support/transcripts.ts";

const lines = transcriptsOf(claude).flatMap(({ recording }) =>
  recording.flatMap((recorded) => (recorded.type === "line" ? [recorded.line] : [])),
);

describe("guard and schema", () => {
  test("agree on every recorded line, and refuse only those made to be refused", () => {
    const refused = lines.filter((line) => !isClaudeLine(line));
    for (const line of lines)
      expect([line, ClaudeLineSchema.safeParse(line).success]).toEqual([line, isClaudeLine(line)]);
    const made = transcriptsOf(claude).reduce((sum, { about }) => sum + (about.unparsed ?? 0), 0);
    // One host of a recording says a line of no known type.
    expect(refused).toHaveLength(made + 1);
  });

  test("agree however a line is damaged", () => {
    fc.assert(
      fc.property(fc.constantFrom(...lines), fc.nat(), fc.jsonValue(), (line, place, value) => {
        const damaged = damage(line, { place, value });
        expect([damaged, ClaudeLineSchema.safeParse(damaged).success]).toEqual([damaged, isClaudeLine(damaged)]);
      }),
      { numRuns: 3_000 },
    );
  });
});

const options: LaunchOptions = { ...plainOptions, binary: "/bin/claude" };

describe("launch", () => {
  test("asks for the richest protocol, and passes only what was asked for", () => {
    const launch = claude.launch(options);
    expect(launch).toMatchObject({ kind: "process", command: "/bin/claude", lifetime: "session" });
    const args = launch.kind === "process" ? launch.args : [];
    expect(args.join(" ")).toBe(
      "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages " +
        "--permission-prompt-tool stdio --permission-mode default",
    );
  });

  test("takes up a conversation, or branches off from it", () => {
    const args = argsOf({ ...options, resume: "native", model: "opus", permission_mode: "plan" });
    expect(args).toContain("--resume native --model opus");
    expect(args).toContain("--permission-mode plan");
    expect(argsOf({ ...options, resume: "native", fork: true })).toContain("--resume native --fork-session");
  });

  test("hands over MCP servers of both kinds and the system prompt, in files", () => {
    const launch = claude.launch({
      ...options,
      system_prompt: "Be brief.",
      mcp: { local: { command: "serve", args: ["-x"] }, far: { url: "http://127.0.0.1:1/mcp", headers: { a: "b" } } },
    });
    const args = launch.kind === "process" ? launch.args : [];
    const config = args[args.indexOf("--mcp-config") + 1] ?? "";
    expect(JSON.parse(typeof config === "string" ? "null" : config.content)).toEqual({
      mcpServers: {
        local: { command: "serve", args: ["-x"] },
        far: { type: "http", url: "http://127.0.0.1:1/mcp", headers: { a: "b" } },
      },
    });
    const prompt = { file: "system-prompt.txt", content: "Be brief." };
    expect(args[args.indexOf("--append-system-prompt-file") + 1]).toEqual(prompt);
  });

  test("bypass as root needs a sandbox, and the refusal says so", () => {
    const refused = claude.launch({ ...options, permission_mode: "bypass", asRoot: true });
    expect(refused).toMatchObject({ kind: "refused", code: "mode_not_supported" });
    expect(refused.kind === "refused" ? refused.message : "").toContain("IS_SANDBOX=1");
    const inherits = { ...options, permission_mode: "bypass", asRoot: true, inherited: { IS_SANDBOX: "1" } } as const;
    expect(claude.launch(inherits).kind).toBe("process");
    const allowed = { ...options, permission_mode: "bypass", asRoot: true, env: { IS_SANDBOX: "1" } } as const;
    expect(argsOf(allowed)).toContain("--permission-mode bypassPermissions");
  });
});

describe("commands", () => {
  test("a prompt has an id of ours in the form of a UUID, the same every time", () => {
    const [first] = driven().prompt("Hello").sent;
    const [again] = driven().prompt("Hello").sent;
    expect(first).toMatchObject({
      type: "user",
      message: { role: "user", content: [{ type: "text", text: "Hello" }] },
    });
    expect(first).toEqual(again);
    expect(first).toHaveProperty(
      "uuid",
      expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    );
  });

  test("an answer repeats the input, and never returns the rules that the CLI suggests", () => {
    const { hear, command, sent, last } = driven().prompt("Go");
    hear(
      init,
      toolUse,
      canUse({ suggestions: [rule, { type: "setMode", mode: "acceptEdits", destination: "session" }] }),
    );
    const { permission_id, metadata } = last("permission.requested").data;
    expect(metadata).toMatchObject({ patterns: ["ls"], input: { command: "ls" } });
    command({ type: "permission.reply", permission_id, reply: "always" });
    expect(sent.at(-1)).toEqual(answer({ behavior: "allow", updatedInput: { command: "ls" } }));
  });

  test("a rejection with a message is for the model; one without ends the turn", () => {
    const spoken = driven().prompt("Go");
    spoken.hear(init, toolUse, canUse({ suggestions: [] }));
    const { permission_id } = spoken.last("permission.requested").data;
    spoken.command({ type: "permission.reply", permission_id, reply: "reject", message: "Not now" });
    expect(spoken.sent.at(-1)).toEqual(answer({ behavior: "deny", message: "Not now" }));

    const silent = driven().prompt("Go");
    silent.hear(init, toolUse, canUse({ suggestions: [] }));
    silent.command({ type: "permission.reply", permission_id, reply: "reject" });
    expect(silent.sent.at(-1)).toMatchObject({ response: { response: { behavior: "deny", interrupt: true } } });
    silent.hear({ ...failure, terminal_reason: "aborted_tools" });
    expect(silent.last("turn.ended").data.reason).toBe("rejected");
  });

  test("answers go by the text of their question, several labels joined", () => {
    const { hear, command, sent, last } = driven().prompt("Go");
    const input = {
      questions: [
        { question: "Which?", options: [{ label: "A" }, { label: "B" }] },
        { question: "What else?", multiSelect: true, options: [{ label: "C" }, { label: "D" }] },
      ],
    };
    hear(init, canUse({ suggestions: [], tool: "AskUserQuestion", input }));
    const { question_id, questions } = last("question.requested").data;
    expect(questions.map(({ multiple }) => multiple)).toEqual([false, true]);
    command({ type: "question.reply", question_id, answers: [["B"], ["C", "D"]] });
    const answers = { "Which?": "B", "What else?": "C, D" };
    expect(sent.at(-1)).toEqual(answer({ behavior: "allow", updatedInput: { ...input, answers } }));
  });

  test.each([
    ["Approve the plan", { behavior: "allow", updatedInput: {} }],
    ["Keep planning", { behavior: "deny", message: "The user wants to keep planning." }],
    ["Use another library", { behavior: "deny", message: "Use another library" }],
  ])("a plan answered with %s", (said, response) => {
    const { hear, command, sent, last } = driven().prompt("Go");
    hear(init, canUse({ suggestions: [], tool: "ExitPlanMode", input: {} }));
    command({ type: "question.reply", question_id: last("question.requested").data.question_id, answers: [[said]] });
    expect(sent.at(-1)).toEqual(answer(response));
  });

  test("abort interrupts, and stops what runs in the background", () => {
    const { hear, command, sent } = driven().prompt("Go");
    const tasks = [{ task_id: "b1", task_type: "local_bash", description: "job" }];
    hear(init, { type: "system", subtype: "background_tasks_changed", tasks });
    command({ type: "abort", clear_queue: false });
    expect(sent.slice(1).map((line) => requestOf(line))).toEqual([
      { subtype: "interrupt" },
      { subtype: "stop_task", task_id: "b1" },
    ]);
  });

  test("model and permission mode are changed by control requests", () => {
    const { hear, command, sent } = driven().prompt("Go");
    hear(init);
    command({ type: "set", change: { model: "opus", permission_mode: "bypass", title: "x" } });
    expect(sent.slice(1).map((line) => requestOf(line))).toEqual([
      { subtype: "set_model", model: "opus" },
      { subtype: "set_permission_mode", mode: "bypassPermissions" },
    ]);
  });

  test("compaction is a slash command", () => {
    const { command, sent } = driven();
    command({ type: "compact" });
    expect(sent).toMatchObject([{ type: "user", message: { content: [{ type: "text", text: "/compact" }] } }]);
  });

  test("a request that nobody here can answer is refused at once, so that the CLI does not wait", () => {
    const { hear, sent } = driven().prompt("Go");
    hear(init, { type: "control_request", request_id: "R", request: { subtype: "hook_callback" } });
    expect(sent.at(-1)).toMatchObject({ type: "control_response", response: { subtype: "error", request_id: "R" } });
  });

  test("a wrong key is not retried for minutes: the second refusal interrupts, and the turn fails with advice", () => {
    const { hear, sent, last } = driven().prompt("Go");
    hear(init, retry(1), retry(2), retry(3));
    expect(sent.slice(1).map((line) => requestOf(line))).toEqual([{ subtype: "interrupt" }]);
    hear({ ...failure, terminal_reason: "aborted_streaming" });
    const { reason, error } = last("turn.ended").data;
    expect([reason, error?.code]).toEqual(["error", "authentication_failed"]);
    expect(error?.message).toContain("ANTHROPIC_API_KEY");
  });

  test("a turn of the agent's own does not end the turn of a message that still waits", () => {
    const { hear, sent, events } = driven().prompt("Go");
    const uuid = (sent[0] as { uuid: string }).uuid;
    hear({ ...init, user_message_uuids: [] }, { ...success, uuid: "r1", origin: { kind: "task-notification" } });
    expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(0);
    hear({ ...init, user_message_uuids: [uuid] }, { ...success, uuid: "r2", user_message_uuids: [uuid] });
    expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(1);
  });
});

describe("a start that fails on stderr alone", () => {
  test.each([
    ["error: unknown option '--include-partial-messages'", "agent_version", "franca agents install claude"],
    ["--dangerously-skip-permissions cannot be used with root/sudo privileges", "bypass_root", "IS_SANDBOX=1"],
    ["Error: Session ID 123 is already in use.", "native_session_in_use", "start a new session"],
  ])("%s", (head, code, advice) => {
    const { feed, last } = driven().prompt("Go");
    const stderr = { head, tail: "", truncated: false, total_lines: 1 };
    feed({ type: "disconnected", exit: { code: 1, signal: null, stderr }, at: 3 });
    const { reason, error } = last("turn.ended").data;
    expect([reason, error?.code]).toEqual(["error", code]);
    expect(error?.message).toContain(advice);
  });
});

const init = {
  type: "system",
  subtype: "init",
  session_id: "native",
  model: "claude-x",
  permissionMode: "default",
  tools: [],
};
const toolUse = {
  type: "assistant",
  message: { id: "m1", content: [{ type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } }] },
};
const rule = {
  type: "addRules",
  rules: [{ toolName: "Bash", ruleContent: "ls" }],
  behavior: "allow",
  destination: "localSettings",
};
const success = { type: "result", subtype: "success", is_error: false, result: "Done." };
const failure = { type: "result", subtype: "error_during_execution", is_error: true, errors: [] };
const retry = (attempt: number) => ({
  type: "system",
  subtype: "api_retry",
  attempt,
  retry_delay_ms: 500,
  error_status: 401,
  error: "authentication_failed",
});

const canUse = ({
  suggestions,
  tool = "Bash",
  input = { command: "ls" },
}: {
  suggestions: readonly unknown[];
  tool?: string;
  input?: unknown;
}) => ({
  type: "control_request",
  request_id: "R",
  request: {
    subtype: "can_use_tool",
    tool_name: tool,
    input,
    tool_use_id: "t1",
    permission_suggestions: suggestions,
  },
});

const answer = (response: unknown) => ({
  type: "control_response",
  response: { subtype: "success", request_id: "R", response },
});

const requestOf = (line: unknown): unknown =>
  typeof line === "object" && line !== null && "request" in line ? line.request : null;

function argsOf(given: LaunchOptions): string {
  const launch = claude.launch(given);
  return launch.kind === "process" ? launch.args.join(" ") : launch.kind;
}

/** Puts the value somewhere into the line, or takes the place away. */
function damage(line: unknown, { place, value }: { place: number; value: unknown }): unknown {
  const copy = structuredClone(line);
  const places: [Record<string, unknown>, string][] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [name, child] of Object.entries(node)) {
      places.push([node as Record<string, unknown>, name]);
      visit(child);
    }
  };
  visit(copy);
  const [target, name] = places[place % Math.max(1, places.length)] ?? [{}, ""];
  if (place % 2 === 0) target[name] = value;
  else if (Array.isArray(target)) target.splice(Number(name), 1);
  else delete target[name];
  return copy;
}

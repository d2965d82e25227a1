/** Permission requests are held until they are inspected, and decided by what the inspection found. */
import { describe, expect, test } from "vitest";
import { defaultPolicy, INSPECT_MS } from "../../src/core/input.ts";
import type { PermissionReport } from "../../src/core/report.ts";
import type { RequestedAction } from "../../src/permissions/inspection.ts";
import type { PermissionRule, Unattended } from "../../src/protocol/resources.ts";
import { inspectPurely } from "../support/inspected.ts";
import { callReports, closeResult } from "./driver.ts";
import { type Machine, machine } from "./machine.ts";

const command = (line: string): RequestedAction => ({ kind: "command", command: line });
const ask = (key: string, requested: RequestedAction = command("ls")): PermissionReport => ({
  type: "permission",
  key,
  action: requested.kind === "paths" ? "edit" : "bash",
  tool: null,
  call_id: null,
  input: {},
  requested,
});
const rule = (action: PermissionRule["action"], pattern: string): PermissionRule => ({
  permission: "bash",
  pattern,
  action,
});

interface Setup {
  readonly rules?: readonly PermissionRule[];
  readonly unattended?: Unattended;
}

/** A machine in a turn. Nothing is inspected by itself. */
function inTurn({ rules = [], unattended = { policy: "park" } }: Setup = {}): Machine {
  const policy = { ...defaultPolicy, unattended, permissionRules: { rules, directory: "/workspace" } };
  const it = machine({ policy }, { inspects: false });
  it.prompt("go");
  return it;
}

const inspect = (it: Machine, report: PermissionReport, plugin?: "allow" | "deny"): void =>
  it.feed({ type: "inspected", key: report.key, inspection: inspectPurely(report), plugin, at: it.state.at + 1 });

const requests = (it: Machine): string[] => it.said().filter((line) => line.startsWith("permission."));

const replies = (it: Machine): unknown[] =>
  it.outputs.flatMap((one) =>
    one.type === "command" && one.command.type === "permission.reply" ? [[one.command.key, one.command.reply]] : [],
  );

function always(it: Machine, scope?: string): void {
  const [request] = it.state.requests.values();
  if (request?.type !== "permission") throw new Error("There is no open request.");
  const { permission_id } = request.data;
  const chosen = scope === undefined ? {} : { scope };
  it.command({ type: "permission.reply", permission_id, reply: "always", ...chosen });
}

describe("a held request", () => {
  test("shows nothing while the request is held", () => {
    const it = inTurn();
    it.hears(ask("p"));
    expect(requests(it)).toEqual([]);
    expect(it.said()).not.toContain("turn.state requires_action");
    expect(it.outputs.filter(({ type }) => type === "inspect")).toHaveLength(1);
    inspect(it, ask("p"));
    expect(requests(it)).toEqual(["permission.requested"]);
    expect(it.said()).toContain("turn.state requires_action");
  });

  test("asks users when no inspection comes", () => {
    const it = inTurn({ rules: [rule("allow", "*")] });
    it.hears(ask("p"));
    const heldAt = it.state.at;
    it.wait();
    expect(it.state.at).toBe(heldAt + INSPECT_MS);
    expect(requests(it)).toEqual(["permission.requested"]);
    expect(replies(it)).toEqual([]);
  });

  test.each([
    ["an abort", (it: Machine) => it.command({ type: "abort", clear_queue: false })],
    ["the agent's exit", (it: Machine) => it.exits({ code: 1 })],
    ["a restart", (it: Machine) => it.feed({ type: "restarted", at: it.state.at + 1 })],
    ["the agent's own answer", (it: Machine) => it.hears({ type: "permission.answered", key: "p", reply: "reject" })],
    ["an end by error", (it: Machine) => it.hears({ type: "end", reason: "error" })],
    ["the end of the session", (it: Machine) => it.command({ type: "terminate", by: "user" })],
  ])("is dropped without a trace by %s", (_name, happens) => {
    const it = inTurn();
    it.hears(ask("p"));
    happens(it);
    inspect(it, ask("p"));
    expect(requests(it)).toEqual([]);
    expect(replies(it)).toEqual([]);
    expect(it.state.held.size).toBe(0);
  });

  test("is dropped when its tool goes on", () => {
    const it = inTurn();
    it.hears(...callReports("c"), { ...ask("p"), call_id: "c" });
    it.hears(closeResult("c"));
    inspect(it, ask("p"));
    expect(requests(it)).toEqual([]);
  });

  test("holds a natural end, and is given up with it once it is shown", () => {
    const it = inTurn();
    it.hears(...callReports("c"), { ...ask("p"), call_id: "c" });
    it.hears({ type: "end", reason: "completed" });
    expect(it.said()).not.toContain("turn.ended completed signal");
    inspect(it, ask("p"));
    expect(requests(it)).toEqual(["permission.requested", "permission.resolved reject"]);
    expect(it.said().at(-1)).toBe("turn.ended completed signal");
  });
});

describe("decisions", () => {
  test("a deny wins over an allow rule, a plugin's allow and an always", () => {
    const it = inTurn({ rules: [rule("allow", "*"), rule("deny", "touch *")] });
    it.hears(ask("a", command("touch x")));
    inspect(it, ask("a", command("touch x")), "allow");
    it.hears(ask("b", command("ls")));
    inspect(it, ask("b", command("ls")), "deny");
    expect(replies(it)).toEqual([
      ["a", "reject"],
      ["b", "reject"],
    ]);
  });

  test("a deny that came later wins over an always", () => {
    const it = inTurn();
    it.hears(ask("a"));
    inspect(it, ask("a"));
    always(it);
    it.command({ type: "set", change: { permission_rules: [rule("deny", "ls*")] } });
    it.hears(ask("b"));
    inspect(it, ask("b"));
    expect(replies(it)).toEqual([
      ["a", "once"],
      ["b", "reject"],
    ]);
  });

  test("a late deny rejects the request", () => {
    const it = inTurn();
    it.hears(ask("p"));
    it.wait();
    inspect(it, ask("p"), "deny");
    expect(requests(it)).toEqual(["permission.requested", "permission.resolved reject"]);
    expect(replies(it)).toEqual([["p", "reject"]]);
  });

  test.each([
    ["denied by a rule", [rule("deny", "touch *")], "touch x", "reject"],
    ["not understood while a rule denies something", [rule("deny", "touch *")], "$X y", "reject"],
    ["anything else", [rule("deny", "touch *")], "ls", "once"],
  ])("unattended allow: %s", (_name, rules, line, reply) => {
    const it = inTurn({ rules, unattended: { policy: "allow" } });
    it.hears(ask("p", command(line)));
    inspect(it, ask("p", command(line)));
    expect(replies(it)).toEqual([["p", reply]]);
  });
});

describe("always", () => {
  const line = command("test -f a.txt");

  test("is the exact command, and the agent is only allowed once", () => {
    const it = inTurn();
    it.hears(ask("a", line));
    inspect(it, ask("a", line));
    always(it);
    it.hears(ask("b", line));
    inspect(it, ask("b", line));
    it.hears(ask("c", command("test -v 'a[$(cmd)]'")));
    inspect(it, ask("c", command("test -v 'a[$(cmd)]'")));
    expect(replies(it)).toEqual([
      ["a", "once"],
      ["b", "once"],
    ]);
    expect(requests(it)).toEqual([
      "permission.requested",
      "permission.resolved accept_for_session",
      "permission.requested",
    ]);
  });

  test("is not the same command in another folder", () => {
    const it = inTurn();
    it.hears(ask("a", line));
    inspect(it, ask("a", line));
    always(it);
    const elsewhere = ask("b", { kind: "command", command: "test -f a.txt", directory: "/workspace/sub" });
    it.hears(elsewhere);
    inspect(it, elsewhere);
    expect(it.state.requests.size).toBe(1);
  });

  test("cannot be kept for an action that the agent did not report", () => {
    const it = inTurn();
    const unknown = ask("a", { kind: "unknown" });
    it.hears(unknown);
    inspect(it, unknown);
    always(it);
    expect(requests(it)).toEqual(["permission.requested", "permission.resolved accept"]);
  });
});

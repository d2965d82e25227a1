/** The rules of the turn, one by one, as docs/turn.md tells them. */
import { describe, expect, test } from "vitest";
import type { Report } from "../../src/core/report.ts";
import { callReports, closeResult, openText, policy, testCapabilities } from "./driver.ts";
import { machine, turnsOf } from "./machine.ts";

const end: Report = { type: "end", reason: "completed" };
const failed: Report = { type: "end", reason: "error", error: { message: "bad", code: "bad", details: null } };
const ask = (key: string, call_id: string | null = null): Report => ({
  type: "permission",
  key,
  action: "bash",
  tool: "bash",
  call_id,
  input: {},
  requested: { kind: "command", command: "ls" },
});
const say = (key: string, text: string): Report[] => [
  openText(key),
  { type: "close", key, status: "completed", content: [{ type: "text", text }] },
];

describe("a turn is prompt to idle", () => {
  test("busy once, idle once", () => {
    const it = machine();
    it.prompt("hello");
    it.hears({ type: "begin", origin: "agent" });
    it.hears(...say("m1", "hi"));
    it.hears(end);
    expect(turnsOf(it)).toEqual(["turn.started user", "turn.ended completed signal"]);
  });

  test("an agent that starts by itself has a turn of its own", () => {
    const it = machine({ connected: true });
    it.hears({ type: "begin", origin: "background" });
    it.hears(end);
    expect(turnsOf(it)).toEqual(["turn.started background", "turn.ended completed signal"]);
  });

  test("an end that says something when no turn is open opens and ends one", () => {
    const it = machine({ connected: true });
    it.hears({ ...failed, says: true });
    expect(turnsOf(it)).toEqual(["turn.started agent", "turn.ended error signal"]);
  });
});

describe("end signals are weighed", () => {
  test("a second end is absorbed", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(end);
    it.hears(end);
    expect(turnsOf(it)).toHaveLength(2);
  });

  test("a natural end waits for the open call, then ends", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    it.hears(end);
    expect(turnsOf(it)).toEqual(["turn.started user"]);
    it.hears(closeResult("c1"));
    expect(turnsOf(it)).toEqual(["turn.started user", "turn.ended completed signal"]);
    expect(it.said()).not.toContain("item.completed tool_result tool failed");
  });

  test("the grace bounds that wait, and the call is closed as failed", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    it.hears(end);
    const heardAt = it.state.at;
    expect(it.wait()).toBe(true);
    expect(it.state.at).toBe(heardAt + policy.graceMs);
    expect(it.said().slice(-2)).toEqual(["item.completed tool_result tool failed", "turn.ended completed signal"]);
  });

  test("a line from the agent starts the grace anew", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    it.hears(end);
    it.feed({ type: "heard", reports: [], at: it.state.at + policy.graceMs - 1 });
    it.feed({ type: "tick", at: it.state.at + 1 });
    expect(turnsOf(it)).toEqual(["turn.started user"]);
  });

  test("the process exits while the end waits: the signal's reason, evidence exit", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    it.hears(end);
    it.exits({ code: 0 });
    expect(turnsOf(it).at(-1)).toBe("turn.ended completed exit");
  });

  test.each(["error", "aborted", "length", "max_steps", "budget", "rejected"] as const)(
    "an end by %s does not wait for open calls",
    (reason) => {
      const it = machine();
      it.prompt("hello");
      it.hears(...callReports("c1"));
      it.hears({ type: "end", reason });
      expect(it.said().slice(-2)).toEqual(["item.completed tool_result tool failed", `turn.ended ${reason} signal`]);
    },
  );

  test("open requests do not hold a turn; they are rejected before it ends", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"), ask("r1", "c1"));
    it.hears(end);
    expect(it.said().slice(-3)).toEqual([
      "permission.resolved reject",
      "item.completed tool_result tool failed",
      "turn.ended completed signal",
    ]);
  });

  test("background work does not hold a turn, is named, and may complete later, outside a turn", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    it.hears({ type: "background", open: [{ id: "job", kind: "command", title: "make", call_id: "c1" }] });
    it.hears(end);
    const last = it.drafts.at(-1);
    expect(last).toMatchObject({ type: "turn.ended", data: { background: [{ id: "job", title: "make" }] } });
    it.hears(closeResult("c1"));
    expect(it.said().at(-1)).toBe("item.completed tool_result tool completed");
    expect(turnsOf(it)).toHaveLength(2);
  });
});

describe("late lines never reopen a turn", () => {
  test("an item closed at the end stays closed", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(openText("m1"), { type: "delta", key: "m1", part: "text", delta: "par" });
    it.hears(failed);
    const before = it.drafts.length;
    it.hears({ type: "delta", key: "m1", part: "text", delta: "tial" }, ...say("m1", "partial"));
    expect(it.drafts).toHaveLength(before);
  });

  test("usage and titles are events outside a turn", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(end);
    it.hears({ type: "session", title: "A title" });
    expect(it.outputs.at(-1)).toMatchObject({ turn_id: null, draft: { type: "session.updated" } });
    expect(turnsOf(it)).toHaveLength(2);
  });

  test("the agent speaks again by itself: a turn of origin background", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(end);
    it.hears(...say("m2", "news"));
    it.hears(end);
    expect(turnsOf(it).slice(2)).toEqual(["turn.started background", "turn.ended completed signal"]);
  });
});

describe("no end signal", () => {
  test.each([
    { exit: { code: 1 }, ended: "turn.ended error exit" },
    { exit: { signal: "SIGKILL" }, ended: "turn.ended error exit" },
    { exit: { code: 0 }, ended: "turn.ended interrupted exit" },
    { exit: {}, ended: "turn.ended interrupted exit" },
    { exit: { message: "cannot start" }, ended: "turn.ended error exit" },
  ])("the process ends: $ended", ({ exit, ended }) => {
    const it = machine();
    it.prompt("hello");
    it.hears(openText("m1"), ...callReports("c1"));
    it.exits(exit);
    expect(turnsOf(it)).toEqual(["turn.started user", ended]);
  });

  test("silence with nothing open: the watchdog, and the agent is stopped", () => {
    const it = machine();
    it.prompt("hello");
    it.wait();
    expect(it.drafts.at(-1)).toMatchObject({
      type: "turn.ended",
      data: { reason: "error", error: { code: "watchdog" } },
    });
    expect(it.outputs).toContainEqual({ type: "stop" });
  });

  test("silence alone never ends a turn whose tool is at work", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(...callReports("c1"));
    expect(it.wait()).toBe(false);
  });

  test("a wait for a retry is not silence", () => {
    const it = machine();
    it.prompt("hello");
    it.hears({ type: "state", state: "retrying", attempt: 1, message: "busy", delayMs: 60_000 });
    const next = it.state.at + 60_000;
    it.wait();
    expect(it.state.at).toBe(next + policy.watchdogMs);
  });

  test("the daemon died: evidence restart, and the queue runs", () => {
    const it = machine();
    it.prompt("one");
    it.prompt("two");
    it.hears(ask("r1"));
    it.feed({ type: "restarted", at: it.state.at + 1 });
    expect(turnsOf(it)).toEqual([
      "turn.started user",
      "turn.state requires_action",
      "turn.ended interrupted restart",
      "turn.started queue",
    ]);
  });
});

describe("abort", () => {
  test("ends the turn as aborted when the agent obeys, whatever it calls its end", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(ask("r1"));
    it.command({ type: "abort", clear_queue: false });
    expect(it.said()).toContain("permission.resolved reject");
    it.hears(end);
    expect(turnsOf(it).at(-1)).toBe("turn.ended aborted signal");
  });

  test("an agent that does not obey is stopped", () => {
    const it = machine();
    it.prompt("hello");
    it.command({ type: "abort", clear_queue: false });
    it.wait();
    expect(it.outputs.at(-1)).toEqual({ type: "stop" });
    it.exits({ signal: "SIGKILL" });
    expect(turnsOf(it).at(-1)).toBe("turn.ended aborted exit");
  });

  test("even if nobody reports its death", () => {
    const it = machine();
    it.prompt("hello");
    it.command({ type: "abort", clear_queue: false });
    it.wait();
    it.wait();
    expect(turnsOf(it).at(-1)).toBe("turn.ended aborted watchdog");
  });

  test("while idle nothing happens", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(end);
    const before = it.outputs.length;
    it.command({ type: "abort", clear_queue: false });
    expect(it.outputs).toHaveLength(before);
  });

  test("the queue goes on, unless it is to be cancelled", () => {
    const goesOn = machine();
    goesOn.prompt("one");
    goesOn.prompt("two");
    goesOn.command({ type: "abort", clear_queue: false });
    goesOn.hears({ type: "end", reason: "aborted" });
    expect(turnsOf(goesOn).at(-1)).toBe("turn.started queue");

    const cancelled = machine();
    cancelled.prompt("one");
    cancelled.prompt("two");
    cancelled.command({ type: "abort", clear_queue: true });
    cancelled.hears({ type: "end", reason: "aborted" });
    expect(turnsOf(cancelled).at(-1)).toBe("turn.ended aborted signal");
    expect(cancelled.outputs).toContainEqual({ type: "prompt.dropped", prompt_id: "two" });
  });
});

describe("waiting for a person", () => {
  test("is requires_action, and running again after the answer", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(ask("r1"));
    it.hears(ask("r2"));
    for (const request of [...it.state.requests.values()]) {
      if (request.type !== "permission") throw new Error("no permission");
      it.command({ type: "permission.reply", permission_id: request.data.permission_id, reply: "always" });
    }
    expect(it.said().filter((line) => line.includes("state") || line.includes("resolved"))).toEqual([
      "turn.state requires_action",
      "permission.resolved accept_for_session",
      "permission.resolved accept_for_session",
      "turn.state running",
    ]);
  });

  test("the first answer wins; the native confirmation is absorbed", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(ask("r1"));
    const [request] = it.state.requests.values();
    if (request?.type !== "permission") throw new Error("no request");
    it.command({ type: "permission.reply", permission_id: request.data.permission_id, reply: "once" });
    it.hears({ type: "permission.answered", key: "r1", reply: "reject" });
    expect(it.said().filter((line) => line.startsWith("permission.resolved"))).toEqual(["permission.resolved accept"]);
  });

  test("the deadline rejects, sends the rejection to the agent, and never approves", () => {
    const it = machine();
    it.prompt("hello");
    it.hears(ask("r1"));
    it.wait();
    expect(it.said()).toContain("permission.resolved reject");
    expect(it.outputs).toContainEqual(
      expect.objectContaining({ type: "command", command: expect.objectContaining({ key: "r1", reply: "reject" }) }),
    );
  });

  test.each([
    { unattended: { policy: "deny" as const }, status: "reject" },
    { unattended: { policy: "allow" as const }, status: "accept" },
    { unattended: { policy: "allow" as const, allow: ["edit"] }, status: "reject" },
    { unattended: { policy: "allow" as const, allow: ["bash"] }, status: "accept" },
  ])("unattended $unattended.policy decides at once: $status", ({ unattended, status }) => {
    const it = machine({ policy: { ...policy, unattended } });
    it.prompt("hello");
    it.hears(ask("r1"));
    expect(it.said()).toContain(`permission.resolved ${status}`);
  });

  test("in a recording, the tool that goes on tells the answer", () => {
    const it = machine({ connected: true });
    it.hears({ type: "begin", origin: "agent" }, ...callReports("c1"), ask("r1", "c1"));
    it.hears(closeResult("c1"));
    expect(it.said()).toContain("permission.resolved accept");
    it.hears(...callReports("c2"), ask("r2", "c2"));
    it.hears({ type: "close", key: "c2/result", status: "failed", denied: true });
    expect(it.said()).toContain("permission.resolved reject");
  });
});

describe("prompts", () => {
  test("sent while busy are queued in order, each with a turn of its own", () => {
    const it = machine();
    it.prompt("one");
    it.prompt("two");
    it.prompt("three");
    it.hears(end);
    it.hears(end);
    it.hears(end);
    expect(turnsOf(it).filter((line) => line.startsWith("turn.started"))).toEqual([
      "turn.started user",
      "turn.started queue",
      "turn.started queue",
    ]);
    const started = it.outputs.flatMap((one) => (one.type === "prompt.started" ? [one.prompt_id] : []));
    expect(started).toEqual(["one", "two", "three"]);
  });

  test("are steered where asked, into the same turn", () => {
    const it = machine();
    it.prompt("one");
    it.prompt("two", "steer");
    it.hears(end);
    expect(turnsOf(it)).toHaveLength(2);
    expect(it.outputs).toContainEqual(
      expect.objectContaining({ type: "command", command: expect.objectContaining({ type: "steer" }) }),
    );
  });

  test("are user items once: ours, or the agent's own where it echoes", () => {
    const silent = machine();
    silent.prompt("hello");
    expect(silent.said()).toContain("item.completed message user completed");

    const echo = { agent: "echo", capabilities: { ...testCapabilities, echoesPrompts: true } };
    const echoed = machine({ adapter: echo });
    echoed.prompt("hello");
    const item = { key: "u1", native_item_id: "u1", kind: "message", role: "user", content: [] } as const;
    echoed.hears({ type: "open", item }, { type: "close", key: "u1", status: "completed" });
    echoed.hears(...say("m1", "hi"), end);
    expect(echoed.said().filter((line) => line === "item.started message user")).toHaveLength(1);

    const late = machine({ adapter: echo });
    late.prompt("hello");
    late.hears(...say("m1", "hi"));
    late.hears({ type: "open", item }, { type: "close", key: "u1", status: "completed" }, end);
    expect(late.said().filter((line) => line === "item.started message user")).toHaveLength(1);
  });

  test("wait in the queue while a stopped agent is not yet gone", () => {
    const it = machine();
    it.prompt("one");
    it.prompt("two");
    it.wait();
    it.prompt("three");
    expect(turnsOf(it).filter((line) => line.startsWith("turn.started"))).toHaveLength(1);
    it.exits({ signal: "SIGKILL" });
    expect(turnsOf(it).at(-1)).toBe("turn.started queue");
  });
});

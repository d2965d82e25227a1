/** A wall clock that is set, in the turn machine: `clock` inputs change what is shown, and nothing else. */
import { expect, test } from "vitest";
import { policy } from "./driver.ts";
import { machine } from "./machine.ts";

test("a clock that was set ahead changes no wait, only the times that are shown", () => {
  const it = machine();
  it.prompt("hello");
  const aheadMs = 40 * 3_600_000;
  it.feed({ type: "clock", aheadMs, at: it.state.at });
  it.hears({ type: "state", state: "retrying", attempt: 1, message: "busy", delayMs: 1_000 });
  const next = it.state.at + aheadMs + 1_000;
  expect(it.drafts.at(-1)).toMatchObject({ type: "turn.state", data: { next } });
  it.hears({ type: "state", state: "retrying", attempt: 2, message: "busy", nextAt: next + 9_000 });
  expect(it.drafts.at(-1)).toMatchObject({ type: "turn.state", data: { next: next + 9_000 } });
  it.hears({
    type: "permission",
    key: "r1",
    action: "bash",
    tool: "bash",
    call_id: null,
    input: {},
    requested: { kind: "command", command: "ls" },
  });
  const due = it.state.at + policy.unattended.deadlineMs;
  const deadline = new Date(due + aheadMs).toISOString();
  const asked = it.drafts.find(({ type }) => type === "permission.requested");
  expect(asked).toMatchObject({ data: { metadata: { deadline } } });
  it.wait();
  expect(it.state.at).toBe(due);
});

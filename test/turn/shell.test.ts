/** A person's own command: a turn that the agent has no part in, and that the agent is shown with the next prompt. */
import { expect, test } from "vitest";
import { resumeMachine } from "../../src/core/resume.ts";
import { emptySnapshot, type Snapshot } from "../../src/core/snapshot.ts";
import type { Item } from "../../src/protocol/items.ts";
import { type Machine, machine, turnsOf } from "./machine.ts";

const turnOf = ({ outputs }: Machine) => {
  const effect = outputs.findLast((one) => one.type === "shell");
  if (effect?.type !== "shell") throw new Error("No command was run.");
  return effect.turn_id;
};

/** What the agent was given last. */
const given = ({ outputs }: Machine): string => {
  const last = outputs.findLast((one) => one.type === "command" && one.command.type === "prompt");
  return last?.type === "command" && last.command.type === "prompt" ? last.command.prompt.text : "";
};

const ends = (it: Machine, output: string) =>
  it.feed({ type: "shell.ended", turn_id: turnOf(it), output, exit_code: 0, stopped: false, at: it.state.at + 1 });

test("the agent's death does not end it, and its own end does, once", () => {
  const it = machine();
  it.prompt("hello");
  it.hears({ type: "end", reason: "completed" });
  it.command({ type: "shell", command: "ls" });
  const turn_id = turnOf(it);
  it.feed({ type: "shell.output", turn_id, delta: "one\n", at: it.state.at });
  it.exits({ code: 1 });
  expect(turnsOf(it).at(-1)).toBe("turn.started user");
  ends(it, "one\n");
  expect(turnsOf(it).at(-1)).toBe("turn.ended completed signal");
  it.feed({ type: "shell.output", turn_id, delta: "late", at: it.state.at });
  ends(it, "late");
  expect(it.said().filter((line) => line.startsWith("turn.ended"))).toHaveLength(2);
  expect(it.said()).not.toContain("item.delta late");
});

test("an abort stops the command, not the agent, and waits for its end", () => {
  const it = machine();
  it.prompt("hello");
  it.hears({ type: "end", reason: "completed" });
  it.command({ type: "shell", command: "sleep 9" });
  it.command({ type: "abort", clear_queue: false });
  expect(it.outputs.at(-1)).toEqual({ type: "shell.stop", turn_id: turnOf(it) });
  it.wait();
  expect(it.outputs.some(({ type }) => type === "stop")).toBe(false);
  expect(turnsOf(it).at(-1)).toBe("turn.started user");
  ends(it, "");
  expect(turnsOf(it).at(-1)).toBe("turn.ended aborted signal");
});

test("the next prompt shows it to the agent, once, and not to a slash command", () => {
  const it = machine();
  it.command({ type: "shell", command: "ls" });
  ends(it, "found.txt\n");
  it.prompt("/help");
  expect(given(it)).toBe("/help");
  it.hears({ type: "end", reason: "completed" });
  it.prompt("what is there?");
  expect(given(it)).toMatch(/^what is there\?\n\n.*\$ ls\nfound\.txt\n$/s);
  it.hears({ type: "end", reason: "completed" });
  it.prompt("again");
  expect(given(it)).toBe("again");
});

test("after a restart the agent is shown what it has not heard of", () => {
  const it = machine();
  it.prompt("hello");
  it.hears({ type: "end", reason: "completed" });
  it.command({ type: "shell", command: "ls" });
  ends(it, "found.txt\n");
  const snapshot: Snapshot = emptySnapshot();
  for (const draft of it.drafts) {
    if (draft.type === "item.completed") snapshot.items.set(draft.data.item.item_id, draft.data.item satisfies Item);
  }
  const again = machine();
  resumeMachine(again.state, snapshot);
  again.prompt("what is there?");
  expect(given(again)).toContain("found.txt");
});

/** Drives the bare turn machine with a small alphabet of inputs, so that whole trees of histories can be explored. */

import { type Capabilities, noCapabilities } from "../../src/core/capabilities.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import type { MachineOutput, MachineState } from "../../src/core/machine-state.ts";
import type { Report } from "../../src/core/report.ts";
import { type MachineInput, type MachineOptions, startMachine, stepMachine, wakeAt } from "../../src/core/turn.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";

export const policy = { ...defaultPolicy, unattended: { policy: "park" as const, deadlineMs: 3_600_000 } };

/** Every letter is one thing that can happen to a session. The first twelve are explored by brute force too. */
export const alphabet = [
  "prompt",
  "text",
  "call",
  "result",
  "end",
  "error-end",
  "abort",
  "exit",
  "ask",
  "answer",
  "begin",
  "tick",
  "connected",
  "restart",
  "background",
  "retry",
  "late-text",
  "answered-natively",
  "inspected",
] as const;
export type Letter = (typeof alphabet)[number];
export const bruteAlphabet: readonly Letter[] = alphabet.slice(0, 12);

export interface Driver {
  readonly state: MachineState;
  /** Connect at once when asked to; else the letter `connected` does it. */
  readonly autoConnect: boolean;
  count: number;
  readonly calls: string[];
  lastText: string | null;
}

export const machineOptions = (overrides: Partial<MachineOptions> = {}): MachineOptions => ({
  sessionId: sessionId("s"),
  adapter: { agent: "test", capabilities: { ...capabilities } },
  policy,
  connected: false,
  foreign: false,
  ...overrides,
});

const capabilities: Capabilities = {
  ...noCapabilities,
  permissions: true,
  questions: true,
  steer: true,
  resume: true,
  deltas: true,
  todos: true,
  subagents: true,
  reasoning: true,
  cost: true,
  permissionModes: ["default"],
};

export const testCapabilities = capabilities;

/** `running`: the agent is there from the start, as in a recording. */
export interface Start {
  readonly autoConnect: boolean;
  readonly running: boolean;
}

export function startDriver({ autoConnect, running }: Start): Driver {
  return {
    state: startMachine(machineOptions({ connected: running })),
    autoConnect,
    count: 0,
    calls: [],
    lastText: null,
  };
}

/** Plays one letter. A letter that cannot happen in this state (a line from an agent that is not there) gives null. */
export function play(driver: Driver, letter: Letter): MachineOutput[] | null {
  const { state } = driver;
  const at = state.at + 1;
  const input = inputFor(driver, letter, at);
  if (input === null) return null;
  const out = [...stepMachine(state, input)];
  if (driver.autoConnect && out.some((one) => one.type === "connect")) {
    out.push(...stepMachine(state, { type: "connected", folder: null, at }));
  }
  return out;
}

/** Nothing is known about the action that a rule could allow. */
const inspection = { commands: [], paths: [], opaque: "it is scripted" };

const heard = (at: number, ...reports: Report[]): MachineInput => ({ type: "heard", reports, at });

export function inputFor(driver: Driver, letter: Letter, at: number): MachineInput | null {
  const { state } = driver;
  driver.count += 1;
  const agentSpeaks = state.connection === "open";
  switch (letter) {
    case "prompt": {
      const prompt = { prompt_id: promptId(`p${driver.count}`), text: "do it", attachments: [] };
      return { type: "command", command: { type: "prompt", prompt, delivery: "queue" }, at };
    }
    case "abort":
      return { type: "command", command: { type: "abort", clear_queue: false }, at };
    case "answer": {
      const [request] = state.requests.values();
      if (request?.type !== "permission") return null;
      const { permission_id } = request.data;
      return { type: "command", command: { type: "permission.reply", permission_id, reply: "once" }, at };
    }
    case "inspected": {
      const [key] = state.held.keys();
      return key === undefined ? null : { type: "inspected", key, inspection, at };
    }
    case "exit":
      if (state.connection === "closed") return null;
      return { type: "disconnected", exit: { code: 1, signal: null }, at };
    case "connected":
      return state.connection === "opening" ? { type: "connected", folder: null, at } : null;
    case "restart":
      return { type: "restarted", at };
    case "tick":
      return { type: "tick", at: wakeAt(state) ?? at };
    default:
      return agentSpeaks ? agentInput(driver, letter, at) : null;
  }
}

function agentInput(driver: Driver, letter: Letter, at: number): MachineInput | null {
  const key = `k${driver.count}`;
  switch (letter) {
    case "text":
      driver.lastText = key;
      return heard(at, openText(key), { type: "delta", key, part: "text", delta: "hello" });
    case "late-text":
      if (driver.lastText === null) return null;
      return heard(at, { type: "delta", key: driver.lastText, part: "text", delta: " again" });
    case "call":
      driver.calls.push(key);
      return heard(at, ...callReports(key));
    case "result": {
      const call = driver.calls.shift();
      return call === undefined ? null : heard(at, closeResult(call));
    }
    case "end":
      return heard(at, { type: "end", reason: "completed" });
    case "error-end":
      return heard(at, { type: "end", reason: "error", error: { message: "bad", code: "bad", details: null } });
    case "ask": {
      const call_id = driver.calls.at(-1) ?? null;
      const requested = { kind: "command", command: "ls" } as const;
      return heard(at, { type: "permission", key, action: "bash", tool: "bash", call_id, input: {}, requested });
    }
    case "answered-natively": {
      const [key = null] = [...driver.state.requests.keys(), ...driver.state.held.keys()];
      return key === null ? null : heard(at, { type: "permission.answered", key, reply: "reject" });
    }
    case "begin":
      return heard(at, { type: "begin", origin: "background" });
    case "background": {
      const call_id = driver.calls.at(-1);
      const open = call_id === undefined ? [] : [{ id: "job", kind: "command", title: "job", call_id }];
      return heard(at, { type: "background", open });
    }
    case "retry":
      return heard(at, { type: "state", state: "retrying", attempt: 1, message: "busy", delayMs: 1000 });
    default:
      return null;
  }
}

export const openText = (key: string): Report => ({
  type: "open",
  item: {
    key,
    native_item_id: key,
    kind: "message",
    role: "assistant",
    message_id: key,
    content: [{ type: "text", text: "" }],
  },
});

/** A call whose arguments are complete and whose tool is at work. */
export function callReports(key: string): Report[] {
  const call = {
    type: "tool_call" as const,
    name: "bash",
    arguments: "{}",
    call_id: key,
    tool_kind: "command" as const,
    title: "bash",
  };
  const result = { type: "tool_result" as const, call_id: key, output: "", is_error: false };
  return [
    { type: "open", item: { key, native_item_id: key, kind: "tool_call", role: "assistant", content: [call] } },
    { type: "close", key, status: "completed", content: [call] },
    {
      type: "open",
      item: {
        key: `${key}/result`,
        native_item_id: key,
        kind: "tool_result",
        role: "tool",
        parent: key,
        content: [result],
      },
    },
  ];
}

export const closeResult = (key: string): Report => ({
  type: "close",
  key: `${key}/result`,
  status: "completed",
  content: [{ type: "tool_result", call_id: key, output: "done", is_error: false }],
});

/** The state without its names, numbers and clocks: two histories that can have the same futures look the same. */
export function shapeOf(driver: Driver): string {
  const { state } = driver;
  const { turn } = state;
  const open = [...state.ledger.open.values()].map(
    ({ head, inBackground }) => `${head.kind}${inBackground ? "*" : ""}`,
  );
  const due = [state.requests.size, state.held.size];
  return JSON.stringify([
    state.connection,
    state.started,
    turn === null
      ? null
      : [turn.activity, turn.shown, turn.end?.reason, turn.settleBy !== null, turn.stop !== null, turn.stopAsked],
    open.sort(),
    due,
    Math.min(state.queue.length, 3),
    state.outbox.map((command) => command.type),
    state.background.length,
    driver.calls.length,
    driver.lastText !== null && state.ledger.open.has(driver.lastText),
  ]);
}

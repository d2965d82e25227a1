/** A turn machine at hand for a test: say what happens, read what it says. */
import type { MachineOutput, MachineState } from "../../src/core/machine-state.ts";
import type { Report } from "../../src/core/report.ts";
import { type MachineInput, type MachineOptions, startMachine, stepMachine, wakeAt } from "../../src/core/turn.ts";
import type { Command } from "../../src/protocol/commands.ts";
import type { Draft } from "../../src/protocol/events.ts";
import { promptId } from "../../src/protocol/ids.ts";
import { inspectPurely } from "../support/inspected.ts";
import { machineOptions } from "./driver.ts";
import { observe, startObserver } from "./invariants.ts";

export interface Machine {
  readonly state: MachineState;
  /** Everything it has said, oldest first. */
  readonly drafts: Draft[];
  readonly outputs: MachineOutput[];
  /** Short lines: the type, and what matters of it. */
  readonly said: () => string[];
  readonly feed: (input: MachineInput) => void;
  readonly command: (command: Command) => void;
  readonly prompt: (name: string, delivery?: "queue" | "steer") => void;
  readonly hears: (...reports: Report[]) => void;
  readonly exits: (exit?: { code?: number | null; signal?: string | null; message?: string }) => void;
  /** Lets time pass to the next moment at which something is due; false when nothing is. */
  readonly wait: () => boolean;
}

/** `inspects`: permission requests are inspected at once. */
export function machine(options: Partial<MachineOptions> = {}, { inspects } = { inspects: true }): Machine {
  const state = startMachine(machineOptions(options));
  const observer = startObserver();
  const outputs: MachineOutput[] = [];
  const drafts: Draft[] = [];
  const feed = (input: MachineInput): void => {
    const out = [...stepMachine(state, input)];
    if (out.some((one) => one.type === "connect"))
      out.push(...stepMachine(state, { type: "connected", folder: null, at: input.at }));
    for (const one of [...out]) {
      if (!inspects || one.type !== "inspect") continue;
      const { report } = one;
      const inspected = { key: report.key, inspection: inspectPurely(report) };
      out.push(...stepMachine(state, { type: "inspected", ...inspected, at: input.at }));
    }
    observe(observer, out);
    outputs.push(...out);
    for (const one of out) if (one.type === "event") drafts.push(one.draft);
  };
  const now = (): number => state.at + 1;
  const command = (given: Command): void => feed({ type: "command", command: given, at: now() });
  return {
    state,
    drafts,
    outputs,
    said: () => drafts.map(brief),
    feed,
    command,
    prompt: (name, delivery = "queue") =>
      command({ type: "prompt", prompt: { prompt_id: promptId(name), text: name, attachments: [] }, delivery }),
    hears: (...reports) => feed({ type: "heard", reports, at: now() }),
    exits: ({ code = null, signal = null, message } = {}) =>
      feed({ type: "disconnected", exit: { code, signal, ...(message === undefined ? {} : { message }) }, at: now() }),
    wait: () => {
      const at = wakeAt(state);
      if (at === null) return false;
      feed({ type: "tick", at });
      return true;
    },
  };
}

function brief(draft: Draft): string {
  switch (draft.type) {
    case "turn.started":
      return `turn.started ${draft.data.origin}`;
    case "turn.ended":
      return `turn.ended ${draft.data.reason} ${draft.data.evidence}`;
    case "turn.state":
      return `turn.state ${draft.data.state}`;
    case "turn.continued":
      return `turn.continued ${draft.data.decision}`;
    case "item.started":
    case "item.completed": {
      const { item } = draft.data;
      return `${draft.type} ${item.kind} ${item.role}${draft.type === "item.completed" ? ` ${item.status}` : ""}`;
    }
    case "item.delta":
      return `item.delta ${draft.data.delta}`;
    case "permission.resolved":
    case "question.resolved":
      return `${draft.type} ${draft.data.status}`;
    default:
      return draft.type;
  }
}

/** Only the lines about turns: how most rules are told. */
export const turnsOf = (machine: Machine): string[] => machine.said().filter((line) => line.startsWith("turn."));

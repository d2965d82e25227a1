/**
 * A command that a person typed: a turn of its own, recorded as the user's. An agent that runs such commands itself is
 * given it; for others the host runs it, and the agent is shown it with the next prompt.
 */
import type { Command } from "../protocol/commands.ts";
import type { TurnId } from "../protocol/ids.ts";
import type { ToolResultPart } from "../protocol/items.ts";
import { addDelta, closeItem, openItem } from "./items.ts";
import { beginTurn, finishTurn, sendCommand } from "./lifecycle.ts";
import { type MachineOutput, type MachineState, ours, type Turn } from "./machine-state.ts";
import type { ItemHead } from "./report.ts";
import { SHELL_MESSAGE } from "./unheard.ts";

/** The rule on what is recorded of it. */
export const USER_COMMAND = "shell.user";
const EXPLANATION = "The following tool was executed by the user";

/** What the host reports of the command it runs. */
export type ShellReport =
  | { readonly type: "shell.output"; readonly turn_id: TurnId; readonly delta: string }
  | {
      readonly type: "shell.ended";
      readonly turn_id: TurnId;
      readonly output: string;
      /** Null when it did not end by itself. */
      readonly exit_code: number | null;
      /** Somebody stopped it. */
      readonly stopped: boolean;
    };

/** While busy it is refused at the door. */
export function onShell(
  state: MachineState,
  out: MachineOutput[],
  { command, client_id }: Extract<Command, { type: "shell" }>,
): void {
  if (state.turn !== null) return;
  const turn = beginTurn(state, out, { origin: "user" });
  if (state.capabilities.shell === true) {
    sendCommand(state, out, { command: { type: "shell", command }, prompt: null });
    return;
  }
  turn.shell = command;
  for (const item of headsOf(turn, { command, client_id: client_id ?? null })) {
    openItem(state, out, { head: item, options: ours(USER_COMMAND) });
    if (item.kind === "tool_result") continue;
    closeItem(state, out, {
      report: { type: "close", key: item.key, status: "completed" },
      options: ours(USER_COMMAND),
    });
  }
  out.push({ type: "shell", turn_id: turn.id, command });
}

const callIdOf = ({ id }: Turn): string => `shell-${id.slice(id.lastIndexOf(":") + 1)}`;
const resultKeyOf = (turn: Turn): string => `${SHELL_MESSAGE}${turn.id}/result`;

function headsOf(
  turn: Turn,
  { command, client_id }: { command: string; client_id: string | null },
): readonly ItemHead[] {
  const call_id = callIdOf(turn);
  const message_id = `${SHELL_MESSAGE}${turn.id}`;
  const said = { key: message_id, kind: "message", role: "user", message_id } as const;
  const call = { key: `${message_id}/call`, kind: "tool_call", role: "user", parent: message_id } as const;
  const result = { key: resultKeyOf(turn), kind: "tool_result", role: "tool", parent: call.key } as const;
  const written = JSON.stringify({ command });
  return [
    { ...said, native_item_id: client_id, content: [{ type: "text", text: EXPLANATION, synthetic: true }] },
    {
      ...call,
      native_item_id: null,
      content: [{ type: "tool_call", name: "bash", arguments: written, call_id, tool_kind: "command", title: command }],
    },
    { ...result, native_item_id: null, content: [{ type: "tool_result", call_id, output: "", is_error: false }] },
  ];
}

/** What comes after its turn is over is late, and changes nothing. */
export function onShellReport(state: MachineState, out: MachineOutput[], report: ShellReport): void {
  const { turn } = state;
  if (turn === null || turn.id !== report.turn_id || turn.shell === null) return;
  const key = resultKeyOf(turn);
  if (report.type === "shell.output") {
    addDelta(state, out, { type: "delta", key, part: "tool_output", delta: report.delta });
    return;
  }
  const { output, exit_code } = report;
  const command = turn.shell;
  const result: ToolResultPart = {
    type: "tool_result",
    call_id: callIdOf(turn),
    output,
    is_error: exit_code !== 0,
    ...(exit_code === null ? {} : { exit_code }),
  };
  const status = exit_code === 0 ? "completed" : "failed";
  closeItem(state, out, { report: { type: "close", key, status, content: [result] }, options: ours(USER_COMMAND) });
  state.unheard.push({ command, output });
  const aborted = { reason: "aborted" as const, error: null };
  const { reason, error } = turn.stop ?? (report.stopped ? aborted : { reason: "completed" as const, error: null });
  finishTurn(state, out, { reason, evidence: "signal", error });
}

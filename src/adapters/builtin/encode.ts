/** What the machine asks → the builtin agent's own lines. */
import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { BuiltinHears } from "../../dialects/builtin.ts";
import type { Prompt } from "../../protocol/commands.ts";

export function encode(command: AgentCommand): Send[] {
  switch (command.type) {
    case "prompt":
      return [send({ type: "prompt", ...said(command.prompt) })];
    case "steer":
      return [send({ type: "steer", ...said(command.prompt) })];
    case "permission.reply":
      return [
        send({
          type: "permission.reply",
          id: command.key,
          reply: command.reply,
          ...defined({ message: command.message }),
        }),
      ];
    case "question.reply":
      return [send({ type: "question.reply", id: command.key, answers: command.answers })];
    case "question.reject":
      return [send({ type: "question.reject", id: command.key, ...defined({ message: command.message }) })];
    case "abort":
      return [send({ type: "abort" })];
    case "set": {
      const { title: _, ...change } = command.change;
      return [send({ type: "set", ...change })];
    }
    case "compact":
      return [send({ type: "compact" })];
    // Not among its capabilities, so the machine never asks.
    case "shell":
    case "ask":
      return [];
    default:
      return unreachable(command);
  }
}

const send = (line: BuiltinHears): Send => ({ type: "send.line", line });

const said = ({ text, attachments }: Prompt) => ({ text, attachments: attachments.map((one) => ({ ...one })) });

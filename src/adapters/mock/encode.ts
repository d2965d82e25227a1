/** Commands → the mock's own words. */
import type { AgentCommand, Send } from "../../core/agent-io.ts";
import { defined } from "../../core/defined.ts";
import { unreachable } from "../../core/fold.ts";
import type { MockHears } from "../../dialects/mock.ts";

export function encode({ command, at }: { readonly command: AgentCommand; readonly at: number }): Send[] {
  switch (command.type) {
    case "prompt":
    case "steer":
      return say({ type: command.type, id: command.prompt.prompt_id, text: command.prompt.text });
    case "permission.reply": {
      const { key: id, reply, message } = command;
      return say({ type: "answer", id, reply, ...defined({ message }) });
    }
    case "question.reply":
      return say({ type: "answers", id: command.key, answers: command.answers.map((labels) => [...labels]) });
    case "question.reject":
      return say({ type: "answers", id: command.key, answers: null });
    case "set": {
      const { model, mode, permission_mode } = command.change;
      return say({ type: "set", ...defined({ model, mode, permission_mode }) });
    }
    case "compact":
      // The mock forgets its counters when it is started again, so the name of the summary is made from the time.
      return say({ type: "compact", id: `compact-${at}` });
    case "abort":
      return say({ type: "abort" });
    case "shell":
    case "ask":
      return [];
    default:
      return unreachable(command);
  }
}

const say = (line: MockHears): Send[] => [{ type: "send.line", line }];

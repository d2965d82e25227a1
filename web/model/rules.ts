/** Why an event exists, in a sentence: by the rule of the turn machine that made it, else by what it is. */
import { lookUp } from "../../src/core/look-up.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";

const rules: Readonly<Record<string, string>> = {
  "prompt.accepted": "The prompt was accepted, so its turn began.",
  "prompt.not_echoed": "The agent did not echo the prompt, so Franca wrote the user's message itself.",
  "turn.signal": "The agent said that it was done, and no tool call was open.",
  "turn.error": "The turn ended by an error that the agent had not reported as an event of its own.",
  "permission_rules.allow": "A permission rule of the session allows it.",
  "permission_rules.deny": "A permission rule of the session denies it.",
  "unattended.allow": "Nobody is there to ask, and the session's policy allows it.",
  "unattended.deny": "Nobody is there to ask, and the session's policy denies it.",
  "turn.grace": "The agent said it was done while a call was open, then stayed silent for the grace time.",
  "turn.abort": "A person stopped the turn.",
  "turn.ended": "It was still open when the turn ended, so it was closed.",
  "turn.next_began": "The agent began the next turn, so this one was over.",
  "turn.settlement": "The turn was about to end and its open todos were looked at.",
  "turn.unannounced": "The agent worked without announcing a turn.",
  "turn.exit": "The agent's process ended.",
  "turn.watchdog": "The agent was silent for too long with nothing open.",
  "turn.restart": "The daemon had died in mid-turn and found it at its next start.",
  "request.deadline": "Nobody answered in time. Nothing is ever allowed by default.",
  "request.tool_went_on": "The tool went on, so the request had been answered.",
  "session.terminate": "The session was ended.",
  "item.stub": "A part came before its parent, so Franca began the parent.",
  "item.rest": "The rest of the text that no delta had carried.",
  "item.corrected": "The agent's final text differed from its deltas.",
};

export function reasonOf(event: UniversalEvent): string {
  const { rule } = event.cause;
  if (rule !== undefined) return lookUp(rules, rule) ?? `The turn machine's rule ${rule} applied.`;
  switch (event.type) {
    case "turn.started":
      return event.data.origin === "user"
        ? "A prompt was accepted."
        : `The turn began by itself: ${event.data.origin}.`;
    case "turn.ended":
      return endReason(event.data.evidence);
    case "turn.state":
      return event.data.state === "requires_action"
        ? "The agent waits for a person."
        : `The turn is ${event.data.state} now.`;
    case "agent.unparsed":
      return "The line fits no shape that this version of Franca knows. Nothing is dropped in silence.";
    default:
      return event.source === "agent" ? "The agent reported it." : "Franca made it.";
  }
}

function endReason(evidence: "signal" | "exit" | "watchdog" | "restart"): string {
  switch (evidence) {
    case "signal":
      return "The agent said that it was done, and no tool call was open.";
    case "exit":
      return "The agent's process ended, so the turn could not go on.";
    case "watchdog":
      return "The agent was silent for too long with nothing open.";
    case "restart":
      return "The daemon had died in mid-turn and found it at its next start.";
  }
}

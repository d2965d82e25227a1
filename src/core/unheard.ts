/** Commands that a person ran beside the agent: it is shown them with the next prompt. */
import type { Prompt } from "../protocol/commands.ts";
import type { Item } from "../protocol/items.ts";
import type { MachineState, UserCommand } from "./machine-state.ts";
import type { Snapshot } from "./snapshot.ts";

/** The id of such a command's user message begins with this. */
export const SHELL_MESSAGE = "shell/";
/** What an agent is shown of one output; the log has more. */
const SHOWN_LENGTH = 4_000;

/** The prompt with what the agent has not heard of: in its words for the agent, as synthetic text in its message. */
export function withUnheard(state: MachineState, prompt: Prompt): Prompt {
  // A slash command takes the words after it as its arguments; what was run is shown with the prompt after it.
  if (state.unheard.length === 0 || prompt.extras?.command !== undefined || prompt.text.startsWith("/")) return prompt;
  const text = state.unheard.map(shown).join("\n");
  state.unheard = [];
  const parts = [...(prompt.extras?.parts ?? [{ text: prompt.text }]), { text, synthetic: true }];
  return { ...prompt, text: `${prompt.text}\n\n${text}`, extras: { ...prompt.extras, parts } };
}

const shown = ({ command, output }: UserCommand): string => {
  const rest = output.length > SHOWN_LENGTH ? "\n[…]" : "";
  return `Before this I ran a command myself:\n$ ${command}\n${output.slice(0, SHOWN_LENGTH)}${rest}`;
};

/** The commands since the last prompt, from what a session has stored of itself. */
export function unheardIn({ items }: Pick<Snapshot, "items">): UserCommand[] {
  let commands: { readonly call_id: string; readonly command: string; output: string }[] = [];
  for (const item of items.values()) {
    if (isPrompt(item)) commands = [];
    for (const part of item.content) {
      if (part.type === "tool_call" && item.role === "user")
        commands.push({ call_id: part.call_id, command: part.title, output: "" });
      if (part.type !== "tool_result") continue;
      const run = commands.find(({ call_id }) => call_id === part.call_id);
      if (run !== undefined) run.output = part.output;
    }
  }
  return commands.map(({ command, output }) => ({ command, output }));
}

/** The message that says that a person has run a command. */
export const isShellMessage = ({ message_id }: Item): boolean => message_id?.startsWith(SHELL_MESSAGE) === true;

const isPrompt = (item: Item): boolean =>
  item.kind === "message" && item.role === "user" && item.subagent === undefined && !isShellMessage(item);

/** Ships with Franca: proposes to go on while todos are open. The governor keeps it within its bounds. */
import type { HookInput, HookOutput, Plugin } from "./hooks.ts";

export const todoContinuation: Plugin = () => ({
  "turn.settle": ({ todos }: HookInput<"turn.settle">, output: HookOutput<"turn.settle">) => {
    const open = todos.filter((todo) => todo.status === "pending" || todo.status === "in_progress");
    if (open.length === 0) return;
    output.continue = {
      reason: `${open.length} of ${todos.length} todos are open`,
      prompt: "Please go on with the open todos, or say why they cannot be done and update the list.",
    };
  },
});

/** What other programs ask of attached TUIs: published as events to those of the same directory. */

import * as z from "zod";
import { lookUp } from "../../core/look-up.ts";
import { created } from "./events.ts";
import { json, type OpenCodeAnswer, type OpenCodeCall, type OpenCodeRoute } from "./route.ts";
import { viewOf } from "./sessions.ts";

const Append = z.looseObject({ text: z.string() });
const Execute = z.looseObject({ command: z.string() });
const Toast = z.looseObject({
  title: z.string().optional(),
  message: z.string(),
  variant: z.enum(["info", "success", "warning", "error"]),
  duration: z.number().positive().default(5_000),
});
const Select = z.looseObject({ sessionID: z.string().startsWith("ses") });
const Publish = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("tui.prompt.append"), properties: Append }),
  z.looseObject({ type: z.literal("tui.command.execute"), properties: Execute }),
  z.looseObject({ type: z.literal("tui.toast.show"), properties: Toast }),
  z.looseObject({ type: z.literal("tui.session.select"), properties: Select }),
]);

/** Commands under the names that older clients use. */
const commands: Readonly<Record<string, string>> = {
  session_new: "session.new",
  session_share: "session.share",
  session_interrupt: "session.interrupt",
  session_compact: "session.compact",
  messages_page_up: "session.page.up",
  messages_page_down: "session.page.down",
  messages_half_page_up: "session.half.page.up",
  messages_half_page_down: "session.half.page.down",
  messages_first: "session.first",
  messages_last: "session.last",
  agent_cycle: "agent.cycle",
};

const opening = (name: string, command: string): OpenCodeRoute => ({
  method: "POST",
  path: `/tui/${name}`,
  action: "prompt",
  handle: async (call) => publish(call, "tui.command.execute", { command }),
});

export const tuiRoutes: readonly OpenCodeRoute[] = [
  {
    method: "POST",
    path: "/tui/append-prompt",
    action: "prompt",
    handle: async (call) => publish(call, "tui.prompt.append", { text: (await call.body(Append)).text }),
  },
  opening("open-help", "help.show"),
  opening("open-sessions", "session.list"),
  // As OpenCode itself does.
  opening("open-themes", "session.list"),
  opening("open-models", "model.list"),
  opening("submit-prompt", "prompt.submit"),
  opening("clear-prompt", "prompt.clear"),
  {
    method: "POST",
    path: "/tui/execute-command",
    action: "prompt",
    partial: "Names that are not among the older ones are published as they are; OpenCode publishes no command then.",
    async handle(call) {
      const { command } = await call.body(Execute);
      return publish(call, "tui.command.execute", { command: lookUp(commands, command) ?? command });
    },
  },
  {
    method: "POST",
    path: "/tui/show-toast",
    action: "prompt",
    async handle(call) {
      const { title, message, variant, duration } = await call.body(Toast);
      const named = title === undefined ? {} : { title };
      return publish(call, "tui.toast.show", { ...named, message, variant, duration });
    },
  },
  {
    method: "POST",
    path: "/tui/publish",
    action: "prompt",
    async handle(call) {
      const { type, properties } = await call.body(Publish);
      return publish(call, type, properties);
    },
  },
  {
    method: "POST",
    path: "/tui/select-session",
    action: "prompt",
    async handle(call) {
      const { sessionID } = await call.body(Select);
      await viewOf({ ...call, params: { sessionID } });
      return publish(call, "tui.session.select", { sessionID });
    },
  },
  {
    method: "GET",
    path: "/tui/control/next",
    action: "read",
    partial: "Waits until the client leaves: nothing is asked of a TUI in this way any more, neither by OpenCode.",
    handle: waiting,
  },
  {
    method: "POST",
    path: "/tui/control/response",
    action: "read",
    partial: "Whatever its body is: nobody waits for it.",
    handle: async () => json(true),
  },
];

async function publish(call: OpenCodeCall, type: string, properties: object): Promise<OpenCodeAnswer> {
  await call.views.ready();
  call.views.announce(created(type, properties), { directory: call.directory });
  return json(true);
}

async function waiting({ outgoing, stopped }: OpenCodeCall): Promise<OpenCodeAnswer> {
  await new Promise<void>((resolve) => {
    outgoing.on("close", () => resolve());
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
  return "empty";
}

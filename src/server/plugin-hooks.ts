/** The hooks that the builtin agent runs, with ids that a plugin's own client can use. */
import { sessionId } from "../protocol/ids.ts";
import type { HookInput, HookName, Plugins } from "../runtime/plugins/plugins.ts";
import type { Places } from "./plugin-places.ts";

/** Hooks whose inputs are translated; all others come from the server, in these ids already. */
const located: readonly HookName[] = ["experimental.text.complete", "tool.execute.before", "tool.execute.after"];

/** Whether any plugin needs to know where items are. */
export const needsPlaces = (plugins: Plugins): boolean => located.some(plugins.has);

export function hooksOfSurface(plugins: Plugins, places: Places): Pick<Plugins, "has" | "trigger"> {
  return {
    has: plugins.has,
    trigger: async (hook, input, output) => plugins.trigger(hook, await translated(places, hook, input), output),
  };
}

/** The agent names its own items; what cannot be found in time keeps its name. */
async function translated<Name extends HookName>(
  places: Places,
  hook: Name,
  input: HookInput<Name>,
): Promise<HookInput<Name>> {
  if (!("sessionID" in input)) return input;
  const session = sessionId(input.sessionID);
  const item = !located.includes(hook)
    ? null
    : "partID" in input
      ? input.partID
      : "callID" in input
        ? input.callID
        : null;
  const place = item === null ? null : await places.find(session, item);
  const ids = { sessionID: place?.sessionID ?? places.session(session) };
  if (!("partID" in input) || place === null) return { ...input, ...ids };
  return { ...input, ...ids, messageID: place.messageID, partID: place.partID };
}

/** A message that was added without asking the model: the answer of OpenCode, read like its events. */
import type { Send } from "../../core/agent-io.ts";
import type { Report } from "../../core/report.ts";
import type { OpenCodeMessage, OpenCodePart } from "../../dialects/opencode.ts";
import { onPart } from "./events.ts";
import { addMessage } from "./parts.ts";
import { messageOf, type State } from "./state.ts";

type Out = (Report | Send)[];

/** Its events may have come already; they were kept, because a prompt of another client looks the same. */
export function onNoted(
  state: State,
  { info, parts, at }: { info: OpenCodeMessage; parts: readonly OpenCodePart[]; at: number },
): Out {
  const { id: messageID, sessionID } = info;
  const message = messageOf(state, messageID) ?? addMessage(state, { messageID, sessionID, role: "user" });
  message.note = true;
  const keys = new Set(parts.map(({ id }) => id));
  const isOf = (report: Report): boolean =>
    report.type === "open" ? keys.has(report.item.key) : report.type === "close" && keys.has(report.key);
  const kept = state.foreign.filter(isOf);
  state.foreign = state.foreign.filter((report) => !isOf(report));
  return [...kept, ...parts.flatMap((part) => onPart(state, { part, at }))];
}

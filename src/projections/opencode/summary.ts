/** One OpenCode event in a few words, for tables and logs that people read. */
import type { OpenCodeEvent, OpenCodeMessage, OpenCodePart } from "../../dialects/opencode.ts";

export function summariseOpenCode(event: OpenCodeEvent): string {
  switch (event.type) {
    case "session.status":
      return `${event.type} ${event.properties.status.type}`;
    case "message.updated":
      return `${event.type} (${messageWords(event.properties.info)})`;
    case "message.part.updated":
      return `${event.type} (${partWords(event.properties.part)})`;
    case "message.part.delta":
      return `${event.type} ${JSON.stringify(event.properties.delta)}`;
    case "session.error":
      return `${event.type} (${event.properties.error?.name ?? "unknown"})`;
    case "permission.asked":
      return `${event.type} (${event.properties.permission})`;
    case "permission.replied":
      return `${event.type} (${event.properties.reply})`;
    case "file.edited":
      return `${event.type} (${event.properties.file})`;
    default:
      return event.type;
  }
}

function messageWords(info: OpenCodeMessage): string {
  if (info.role === "user") return "user";
  if (info.error !== undefined) return `assistant, ${info.error.name}`;
  if (info.time?.completed === undefined) return "assistant, in progress";
  return `assistant, completed${info.finish === undefined ? "" : `, ${info.finish}`}`;
}

function partWords(part: OpenCodePart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return `${part.type} ${JSON.stringify(part.text)}`;
    case "tool":
      return `tool ${part.tool}, ${part.state.status}`;
    case "step-finish":
      return `step-finish, ${part.reason}`;
    default:
      return part.type;
  }
}

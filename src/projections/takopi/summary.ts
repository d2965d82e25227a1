/** One Takopi event in a few words, for tables that people read. */
import type { TakopiEvent } from "../../dialects/takopi.ts";

export function summariseTakopi(event: TakopiEvent): string {
  switch (event.type) {
    case "started":
      return `started ${event.resume.value}`;
    case "action": {
      const { kind, title } = event.action;
      const end = event.phase !== "completed" || event.ok === null ? "" : event.ok ? " ok" : " failed";
      return `${event.phase}${end} ${kind} ${JSON.stringify(title)}`;
    }
    case "completed":
      return `completed ${event.ok ? "ok" : "failed"} ${JSON.stringify(event.ok ? event.answer : event.error)}`;
  }
}

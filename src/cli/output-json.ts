/** `franca run --json`: one object at the end, for scripts. Notes for people go to standard error. */
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { Output, OutputOptions } from "./output.ts";

export function openJsonOutput({ stdout, stderr }: OutputOptions): Output {
  let texts: string[] = [];
  let before = "";
  let session: string | null = null;
  let startedAt: number | null = null;
  let end: EventOf<"turn.ended"> | null = null;
  let isWritten = false;
  const files = new Set<string>();

  const onItem = ({ data: { item } }: EventOf<"item.completed">): void => {
    for (const part of item.content) {
      if (part.type === "file_ref" && part.action !== "read") files.add(part.path);
      if (item.subagent !== undefined) continue;
      if (part.type === "tool_call") {
        before = texts.at(-1) ?? before;
        texts = [];
      }
      if (part.type === "text" && item.role === "assistant" && part.text.trim() !== "") texts.push(part.text);
    }
  };
  const see = (event: UniversalEvent): void => {
    session = event.session_id;
    if (event.type === "turn.started") startedAt = Date.parse(event.time);
    else if (event.type === "item.completed") onItem(event);
    else if (event.type === "turn.ended") end = event;
  };
  const result = (problem: string | null): object => ({
    session,
    reason: end?.data.reason ?? "error",
    text: texts.length > 0 ? texts.join("\n\n") : before,
    files: [...files],
    usage: end?.data.usage ?? null,
    duration_ms: end === null || startedAt === null ? null : Date.parse(end.time) - startedAt,
    error: end?.data.error ?? (problem === null ? null : { message: problem }),
  });
  return {
    event: see,
    say: (text) => void stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
    end(problem) {
      if (!isWritten && (end !== null || problem !== null)) {
        stdout.write(`${JSON.stringify(result(problem))}\n`);
        isWritten = true;
      }
      return false;
    },
  };
}

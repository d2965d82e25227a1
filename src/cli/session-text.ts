/** A stored session as text: its conversation, and its first prompt where it has no title. */
import type { UniversalEvent } from "../protocol/events.ts";
import type { SessionDetail, SessionSummary } from "../protocol/resources.ts";
import type { Door } from "./door.ts";

const PAGE = 1000;
/** The first prompt is among the first events. */
const FIRST_EVENTS = 30;

export async function firstPrompt(door: Pick<Door, "events">, { sessionId }: SessionSummary): Promise<string> {
  const { events } = await door.events(sessionId, { offset: 0, limit: FIRST_EVENTS, includeRaw: false });
  for (const event of events) {
    if (event.type !== "item.completed" || event.data.item.role !== "user") continue;
    const [part] = event.data.item.content;
    if (part?.type === "text") return part.text;
  }
  return "";
}

/** All of a session's events, page by page. */
export async function* storedEvents(door: Pick<Door, "events">, id: string): AsyncGenerator<readonly UniversalEvent[]> {
  for (let offset = 0, more = true; more; ) {
    const { events, hasMore } = await door.events(id, { offset, limit: PAGE, includeRaw: false });
    yield events;
    offset = events.at(-1)?.sequence ?? offset;
    more = hasMore && events.length > 0;
  }
}

export async function showConversation(
  door: Door,
  { sessionId, directory, agent }: SessionDetail,
  { isVerbose }: { readonly isVerbose: boolean },
): Promise<void> {
  const { stdout, stderr } = process;
  const { openTextOutput } = await import("./output-text.ts");
  const output = openTextOutput({
    stdout,
    stderr,
    color: stdout.isTTY && process.env.NO_COLOR === undefined,
    prompts: true,
    detail: isVerbose ? "verbose" : "normal",
    agent,
  });
  output.setDirectory?.(directory);
  for await (const events of storedEvents(door, sessionId)) output.past(events);
  output.end(null);
}

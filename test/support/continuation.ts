/** What a listener hears of turns that go on by themselves. */
import type { EventOf, UniversalEvent } from "../../src/protocol/events.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { eventsAfter } from "./sessions.ts";

/** Starts, decisions with their reasons, and ends, in order. */
export const turnStory = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === "turn.started") return ["started"];
    if (event.type === "turn.continued") return [`${event.data.decision}: ${event.data.reason}`];
    return event.type === "turn.ended" ? [event.data.reason] : [];
  });

/** What the user said, Franca's own words included, each told as an item. */
export const userWords = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type !== "item.completed" || event.data.item.role !== "user") return [];
    return event.data.item.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });

/** Waits until the agent speaks in a continuation. */
export async function speaksOn(sessions: Sessions, id: SessionId): Promise<EventOf<"item.delta">> {
  let goesOn = false;
  for await (const event of eventsAfter(sessions, id)) {
    if (event.type === "turn.continued" && event.data.decision === "continue") goesOn = true;
    if (goesOn && event.type === "item.delta") return event;
  }
  throw new Error("The stream ended before the agent spoke on.");
}

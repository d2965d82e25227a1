/** What tests with real agents ask of a session's events. */
import type { Adapter } from "../../src/core/adapter.ts";
import { convertLines } from "../../src/core/convert.ts";
import { COPIED } from "../../src/core/copied-history.ts";
import { recordedFrom } from "../../src/dialects/recording.ts";
import type { EventOf, UniversalEvent } from "../../src/protocol/events.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { Item } from "../../src/protocol/items.ts";
import { lint, universal } from "../../src/rules/index.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { eventsAfter, until, wholeLog } from "./sessions.ts";

export const items = (events: readonly UniversalEvent[]): Item[] =>
  events.flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []));

/** What one role said in words. */
export const texts = (events: readonly UniversalEvent[], role: Item["role"]): string[] =>
  items(events).flatMap((item) => {
    const [first] = item.content;
    return item.role === role && first?.type === "text" && first.text !== "" ? [first.text] : [];
  });

export const results = (events: readonly UniversalEvent[]) =>
  items(events).flatMap((item) => item.content.filter((part) => part.type === "tool_result"));

/** Prompts, and gives back the place after which its turn can be read. */
export const prompt = async (sessions: Sessions, id: SessionId, text: string): Promise<number> =>
  (await sessions.prompt(id, { text })).sequence;

/** The rest of a turn, from a place within it. */
export async function rest(sessions: Sessions, id: SessionId, after: number): Promise<UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  for await (const event of eventsAfter(sessions, id, { after })) {
    events.push(event);
    if (event.type === "turn.ended") return events;
  }
  throw new Error("The stream ended before the turn did.");
}

/** The first piece of text or output after a place. */
export const streaming = (sessions: Sessions, id: SessionId, after: number): Promise<EventOf<"item.delta">> =>
  until(sessions, id, { type: "item.delta", after });

/** What happened, without ids and times. */
const story = (events: readonly UniversalEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === "turn.ended") return [event.data.reason];
    if (event.type !== "item.completed") return [];
    const { kind, role, status, content } = event.data.item;
    return [JSON.stringify({ kind, role, status, content })];
  });

export interface Soundness {
  /** The session's events and what breaks the rules of the universal schema in them. */
  readonly violations: readonly unknown[];
  readonly unparsed: number;
  readonly told: readonly string[];
  /** The same from the native lines that were stored: it must be the same story. */
  readonly converted: readonly string[];
  readonly status: string;
}

/** What must hold of every session, whatever happened in it. */
export async function soundness(sessions: Sessions, id: SessionId, adapter: Adapter): Promise<Soundness> {
  const log = await wholeLog(sessions, id);
  const { lines } = await sessions.native(id, { offset: 0, limit: 5_000 });
  return {
    violations: lint(universal, log),
    unparsed: log.filter(({ type }) => type === "agent.unparsed").length,
    // What a fork copied from its origin is in no line of its own agent.
    told: story(log.filter(({ cause }) => cause?.rule !== COPIED)),
    converted: story(
      convertLines(
        adapter,
        lines.map((line) => recordedFrom({ ...line })),
      ),
    ),
    status: (await sessions.get(id)).status,
  };
}

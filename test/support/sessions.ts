/** Sessions for tests of the runtime: opened in a folder of their own, and what tests ask of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock } from "../../src/adapters/mock/index.ts";
import { createMock } from "../../src/mock/index.ts";
import type { EventOf, EventType, UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import { silentLogger } from "../../src/runtime/logger.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { openSessions } from "../../src/runtime/session/sessions.ts";
import { fake } from "./fake-adapter.ts";

export const tempFolder = (): string => mkdtempSync(join(tmpdir(), "franca-runtime-"));
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

export const runtimeOptions = (folder: string | null, more: Partial<RuntimeOptions> = {}): RuntimeOptions => ({
  adapters: [fake, mock],
  inProcess: { mock: createMock({ delayMs: 0 }) },
  logger: silentLogger,
  store: folder === null ? { kind: "memory" } : { kind: "sqlite", folder },
  toolsFolder: "/nonexistent",
  role: "daemon",
  version: "test",
  directory: tmpdir(),
  // Tests about trust say so themselves.
  trustedFolders: ["/"],
  ...more,
});

export const open = (folder: string | null, more: Partial<RuntimeOptions> = {}): Promise<Sessions> =>
  openSessions(runtimeOptions(folder, more));

const forever = (): AbortSignal => new AbortController().signal;

/** Every event after a sequence, as it comes. */
export async function* eventsAfter(
  sessions: Sessions,
  id: SessionId,
  { after = 0, signal = forever() }: { after?: number; signal?: AbortSignal } = {},
): AsyncGenerator<UniversalEvent> {
  for await (const group of sessions.follow(id, { after, signal })) {
    yield* group.events(after);
  }
}

/** Waits for the first event of a type. */
export async function until<T extends EventType>(
  sessions: Sessions,
  id: SessionId,
  { type, after = 0 }: { type: T; after?: number },
): Promise<EventOf<T>> {
  for await (const event of eventsAfter(sessions, id, { after })) if (isOf(event, type)) return event;
  throw new Error(`The stream of ${id} ended without ${type}.`);
}

const isOf = <T extends EventType>(event: UniversalEvent, type: T): event is EventOf<T> => event.type === type;

/** Prompts, and gives back the events of the prompt up to its turn's end. */
export async function turn(sessions: Sessions, id: SessionId, text: string): Promise<UniversalEvent[]> {
  const { sequence, promptId } = await sessions.prompt(id, { text });
  const events: UniversalEvent[] = [];
  let turnId: string | null = null;
  for await (const event of eventsAfter(sessions, id, { after: sequence })) {
    events.push(event);
    if (event.type === "turn.started" && event.data.prompt_id === promptId) turnId = event.data.turn_id;
    if (event.type === "turn.ended" && event.data.turn_id === turnId) return events;
  }
  throw new Error("The stream ended before the turn did.");
}

export const endOf = (events: readonly UniversalEvent[]) => {
  const ended = events.find((event) => event.type === "turn.ended");
  return ended?.type === "turn.ended" ? { reason: ended.data.reason, evidence: ended.data.evidence } : null;
};

export const spoken = (events: readonly UniversalEvent[]): string =>
  events.map((event) => (event.type === "item.delta" ? event.data.delta : "")).join("");

/** Everything the log holds of a session, asserted to be without a gap. */
export async function wholeLog(sessions: Sessions, id: SessionId): Promise<UniversalEvent[]> {
  const all: UniversalEvent[] = [];
  for (let offset = 0, more = true; more; ) {
    const page = await sessions.events(id, { offset, limit: 5_000, includeRaw: false });
    for (const event of page.events) {
      if (event.sequence !== offset + 1) throw new Error(`Gap: ${offset} is followed by ${event.sequence}.`);
      offset = event.sequence;
      all.push(event);
    }
    more = page.hasMore;
  }
  return all;
}

export const session = (name: string): SessionId => sessionId(name);

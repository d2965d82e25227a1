/**
 * Takes a conversation back for agents that do not do it themselves: marked first, so that it can be undone, and made
 * final by the next prompt. The agent is started again then, and goes on without what was removed.
 */
import { ApiError } from "../../protocol/errors.ts";
import type { MessagePlace, Revert } from "../../protocol/events.ts";
import { noExit } from "../agent/connection/contract.ts";
import type { EventLog, Rewound } from "../log/contract.ts";
import { readConversation } from "./copy-history.ts";
import { type OpenSession, stopAgent } from "./open-session.ts";
import { cannot, refuseEnded } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";

export async function markRevert(open: OpenSession, revert: Revert | null): Promise<void> {
  refuseEnded(open);
  const { adapter } = open;
  if (adapter.capabilities.rewind !== true) throw cannot(adapter, "take back a part of its conversation");
  await open.writer.command({ type: "revert", revert }, (session) => {
    if (session.snapshot().turn === null) return;
    throw new ApiError("session_busy", `Session ${open.id} is busy: wait until it is idle, or abort its turn.`);
  });
}

/** Before a prompt: what was taken back is gone for good now. */
export async function finishRevert(runtime: Runtime, open: OpenSession): Promise<void> {
  const { log } = runtime;
  const { revert, sequence } = open.session.snapshot();
  if (revert === null || open.adapter.capabilities.rewind !== true) return;
  const items = await readConversation(log, { id: open.id, until: sequence });
  const first = items.findIndex(({ message_id }) => message_id === revert.message_id);
  const names = new Set(first < 0 ? [] : items.slice(first).flatMap(({ message_id }) => message_id ?? []));
  const removed = [...names].map((message_id): MessagePlace => ({ message_id }));
  // The one that runs still knows what was taken back.
  if (open.link.isOpen()) await stopAgent(open, noExit);
  const { placeOf } = open.adapter;
  if (placeOf !== null) await keepPlace(log, { open, message: revert.message_id, placeOf });
  await open.writer.command({ type: "revert", revert: null, removed });
}

interface Search {
  readonly open: OpenSession;
  readonly message: string;
  readonly placeOf: (line: unknown) => string | null;
}

/** Where the agent goes on, and which of its lines count no more. */
async function keepPlace(log: EventLog, { open, message, placeOf }: Search): Promise<void> {
  const removed = open.settings.rewound?.removed ?? [];
  const first = await lineOf(log, { open, message });
  const at = await placeBefore(log, { open, first, removed, placeOf });
  const now: Rewound = {
    turns: open.session.snapshot().turns,
    at,
    removed: first === 0 ? removed : [...removed, [first, await log.lastNativeLine(open.id)]],
  };
  const settings = { ...open.settings, rewound: now };
  await log.changeSettings(open.id, settings);
  open.settings = settings;
}

interface Before extends Pick<Search, "open" | "placeOf"> {
  readonly first: number;
  readonly removed: NonNullable<Rewound["removed"]>;
}

/** The last place of the agent's conversation before a line; null when there is none. */
async function placeBefore(log: EventLog, { open, first, removed, placeOf }: Before): Promise<string | null> {
  const isThere = (line: number): boolean => !removed.some(([from, to]) => from <= line && line <= to);
  for (let end = first; end > 1; end -= PAGE) {
    const after = Math.max(0, end - 1 - PAGE);
    const { lines } = await log.readNative(open.id, { after, limit: end - 1 - after });
    const found = lines.findLast(
      ({ from, line, native }) => from === "agent" && isThere(line) && placeOf(native) !== null,
    );
    if (found !== undefined) return placeOf(found.native);
  }
  return null;
}

const PAGE = 500;
const READ_BYTES = 256 * 1024;

/** The first native line of the turn that a message began. */
async function lineOf(log: EventLog, { open: { id }, message }: Pick<Search, "open" | "message">): Promise<number> {
  let isThere = false;
  for (let after = 0; ; ) {
    const groups = await log.read(id, { after, maxBytes: READ_BYTES });
    if (groups.length === 0) return 0;
    for (const group of groups) {
      after = group.last;
      for (const event of group.events()) {
        isThere ||= event.type === "item.started" && event.data.item.message_id === message;
        if (isThere && event.cause.line !== null) return event.cause.line;
      }
    }
  }
}

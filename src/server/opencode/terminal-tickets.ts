/** Tickets for terminals: a page cannot send a header with a WebSocket, so it shows the ticket that it was given. */
import { isShape } from "../../dialects/shape.ts";
import type { Caller } from "../credentials/access.ts";

export interface Tickets {
  /** Remembers the ticket in an answer, and the caller who gets it. */
  readonly note: (answer: unknown, caller: Caller) => void;
  /** Uses up a ticket and returns the caller who got it; null: it is not valid. */
  readonly take: (ticket: string) => Caller | null;
}

const TICKET_MS = 60_000;
const MOST = 1_000;

export function openTickets(): Tickets {
  const known = new Map<string, { readonly until: number; readonly caller: Caller }>();
  return {
    note(answer, caller) {
      const ticket = ticketIn(answer);
      if (ticket === null) return;
      known.set(ticket, { until: performance.now() + TICKET_MS, caller });
      for (const old of known.keys()) {
        if (known.size <= MOST) return;
        known.delete(old);
      }
    },
    take(ticket) {
      const found = known.get(ticket);
      known.delete(ticket);
      return found === undefined || performance.now() > found.until ? null : found.caller;
    },
  };
}

/** `{ticket}`, or `{data: {ticket}}` in the newer API. */
function ticketIn(answer: unknown): string | null {
  if (!isShape(answer)) return null;
  if (typeof answer.ticket === "string" && answer.ticket !== "") return answer.ticket;
  return ticketIn(answer.data);
}

/** Tickets for terminals: a page cannot send a header with a WebSocket, so it shows the ticket that it was given. */
import { isShape } from "../../dialects/shape.ts";

export interface Tickets {
  /** The answer that gave one to a client whom we had let in. */
  readonly note: (answer: unknown) => void;
  /** Each is good for one connection. */
  readonly take: (ticket: string) => boolean;
}

const TICKET_MS = 60_000;
const MOST = 1_000;

export function openTickets(): Tickets {
  const known = new Map<string, number>();
  return {
    note(answer) {
      const ticket = ticketIn(answer);
      if (ticket === null) return;
      known.set(ticket, performance.now() + TICKET_MS);
      for (const old of known.keys()) {
        if (known.size <= MOST) return;
        known.delete(old);
      }
    },
    take(ticket) {
      const until = known.get(ticket) ?? 0;
      known.delete(ticket);
      return performance.now() <= until;
    },
  };
}

/** `{ticket}`, or `{data: {ticket}}` in the newer API. */
function ticketIn(answer: unknown): string | null {
  if (!isShape(answer)) return null;
  if (typeof answer.ticket === "string" && answer.ticket !== "") return answer.ticket;
  return ticketIn(answer.data);
}

/** What must hold after a plan, whatever went wrong in it. Pure: what was seen in, violations out. */
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { lint, rulesFor, universal } from "../../src/server/rules.ts";
import type { Received } from "./client.ts";

export const promises = [
  "lost",
  "twice",
  "out of order",
  "changed",
  "rules",
  "prompts",
  "hung",
  "processes",
  "open files",
  "memory",
  "health",
  "stop",
  "damage",
  "clock",
  "deliveries",
] as const;

/** A promise that was broken, and how. */
export interface Violation {
  readonly promise: (typeof promises)[number];
  readonly what: string;
}

/** An event as the log holds it, and as JSON without `raw`. */
export const bodyOf = ({ raw: _raw, ...event }: UniversalEvent): string => JSON.stringify(event);

/** The linter's rules, but the one against unreadable lines: the fake agents write such lines on purpose. */
export const checkLog = (session: string, events: readonly UniversalEvent[]): Violation[] =>
  lint(universal, events)
    .filter(({ rule }) => rule !== "universal.unparsed")
    .map((found) => ({ promise: "rules", what: `${session}: ${JSON.stringify(found)}` }));

/** What a client of one session saw against the log: everything, once, in order, unchanged. */
export function checkClient(
  name: string,
  received: readonly Received[],
  stored: ReadonlyMap<number, string>,
): Violation[] {
  const found: Violation[] = [];
  let last = 0;
  for (const { data } of received) {
    const event: UniversalEvent = JSON.parse(data);
    const { sequence } = event;
    if (sequence <= last) found.push({ promise: "twice", what: `${name}: ${sequence} after ${last}` });
    if (sequence > last + 1) found.push({ promise: "out of order", what: `${name}: ${sequence} after ${last}` });
    const kept = stored.get(sequence);
    if (kept === undefined) found.push({ promise: "lost", what: `${name}: ${sequence} was seen and is not stored` });
    else if (kept !== bodyOf(event)) found.push({ promise: "changed", what: `${name}: ${sequence}` });
    last = sequence;
  }
  if (last !== stored.size) found.push({ promise: "lost", what: `${name}: has ${last} of ${stored.size}` });
  return found;
}

interface Rendered {
  /** Turns that have ended. */
  readonly ends: number;
  readonly cut: readonly Received[];
  readonly whole: readonly Received[];
}

/**
 * A session in OpenCode's language: by that language's rules, idle once per turn, and the same for a client that was
 * cut on the way as for one that reads everything at once.
 */
export function checkRendered(name: string, { ends, cut, whole }: Rendered): Violation[] {
  const rules = rulesFor("opencode");
  const events = whole.map(({ data }): unknown => JSON.parse(data));
  const found: Violation[] = (rules === null ? [] : lint(rules, events)).map((broken) => ({
    promise: "rules",
    what: `${name}: ${JSON.stringify(broken)}`,
  }));
  const idle = countIdle(whole);
  if (idle !== ends) found.push({ promise: "rules", what: `${name}: idle ${idle} times after ${ends} turns` });
  if (cut.length !== whole.length) {
    found.push({ promise: "lost", what: `${name}: ${cut.length} of ${whole.length} after cuts` });
  }
  const at = whole.findIndex(({ data }, index) => index < cut.length && cut[index]?.data !== data);
  if (at >= 0) found.push({ promise: "changed", what: `${name}: ${at}: ${cut[at]?.data.slice(0, 200)}` });
  return found;
}

export const countIdle = (received: readonly Received[]): number =>
  received.filter(({ data }) => /"type":"session\.idle"/.test(data)).length;

/** Whether the last that was said of the session is that it is busy. */
export const isBusy = (received: readonly Received[]): boolean =>
  /"type":"busy"/.test(received.findLast(({ data }) => /"type":"session\.status"/.test(data))?.data ?? "");

/** Every acknowledged prompt began exactly one turn. */
export function checkPrompts(
  session: string,
  acknowledged: readonly string[],
  events: readonly UniversalEvent[],
): Violation[] {
  const turns = new Map<string, number>();
  for (const event of events) {
    if (event.type !== "turn.started" || event.data.prompt_id === undefined) continue;
    turns.set(event.data.prompt_id, (turns.get(event.data.prompt_id) ?? 0) + 1);
  }
  return acknowledged.flatMap((prompt) => {
    const count = turns.get(prompt) ?? 0;
    return count === 1 ? [] : [{ promise: "prompts" as const, what: `${session}: ${prompt} began ${count} turns` }];
  });
}

/** What is served after bytes were changed: the same as before, or an error in the place of what is damaged. */
export function checkDamaged(
  session: string,
  events: readonly UniversalEvent[],
  stored: ReadonlyMap<number, string>,
): Violation[] {
  const found: Violation[] = [];
  const served = new Set<number>();
  for (const event of events) {
    const { sequence } = event;
    if (event.type === "error" && event.data.code === "storage_damaged") {
      const { first, last } = rangeOf(event.data.details);
      for (let damaged = first; damaged <= last; damaged += 1) served.add(damaged);
      continue;
    }
    served.add(sequence);
    // A daemon that starts may add events of its own behind what there was.
    if (stored.has(sequence) && stored.get(sequence) !== bodyOf(event)) {
      found.push({ promise: "damage", what: `${session}: ${sequence} is served, changed` });
    }
  }
  for (const sequence of stored.keys()) {
    if (!served.has(sequence)) found.push({ promise: "damage", what: `${session}: ${sequence} is missing in silence` });
  }
  return found;
}

function rangeOf(details: unknown): { first: number; last: number } {
  if (typeof details !== "object" || details === null || !("first" in details) || !("last" in details)) {
    throw new Error(`A damage report without its range: ${JSON.stringify(details)}`);
  }
  return { first: Number(details.first), last: Number(details.last) };
}

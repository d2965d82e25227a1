/** How an OpenCode stream and an OpenCode conversation are laid out in rows, to be compared. */
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import { summariseOpenCode } from "../../src/projections/opencode/summary.ts";
import {
  alongside,
  type Comparison,
  comparePair,
  compareRows,
  compareValues,
  type Difference,
  fieldsOf,
  type Labelled,
  startComparison,
} from "./opencode-difference.ts";
import type { Played } from "./opencode-twin.ts";

export interface Both {
  readonly native: Played;
  readonly here: Played;
}

type Lane = "turn" | "session" | "server";

/** What OpenCode does beside a turn (titles, diffs, its plugins) comes when it is ready: no order to compare. */
function laneOf({ type }: OpenCodeEvent): Lane {
  if (/^session\.(created|updated|deleted|diff)$/.test(type)) return "session";
  return /^(session|message|permission|question|todo|file\.edited)/.test(type) ? "turn" : "server";
}

/** How many there are says how long a stream was open, and nothing about what was played. */
const isHeartbeat = ({ type }: { readonly type: string }): boolean => type === "server.heartbeat";

export function compareStreams({ native, here }: Both): Difference[] {
  const comparison = startComparison();
  for (const lane of ["turn", "session", "server"] as const) {
    const row = (played: Played): Labelled[] => {
      const events = played.heard.filter((event) => laneOf(event) === lane && !isHeartbeat(event));
      // What was told last is what stands, so that is what must agree.
      return lane === "session" ? sessionRow(events, played).reverse() : events.map((event) => rowOf(event, played));
    };
    compareRows(comparison, { native: row(native), here: row(here) });
  }
  return comparison.differences;
}

const rowOf = (event: OpenCodeEvent, played: Played): Labelled => ({
  label: labelOf(event, played),
  value: event.properties,
});

/** What is told of a session is told whole every time; what matters is what was new. */
function sessionRow(events: readonly OpenCodeEvent[], played: Played): Labelled[] {
  const before = new Map<string, Record<string, unknown>>();
  return events.map((event) => {
    if (event.type !== "session.created" && event.type !== "session.updated") return rowOf(event, played);
    const { time: _, ...info } = event.properties.info;
    const known = before.get(info.id);
    before.set(info.id, info);
    if (known === undefined) return rowOf(event, played);
    const news = Object.entries(info).filter(([key, value]) => JSON.stringify(known[key]) !== JSON.stringify(value));
    const names = news.map(([key]) => key).sort();
    return { label: `${labelOf(event, played)} (${names.join(", ")})`, value: Object.fromEntries(news) };
  });
}

/** What it is, without what it says: two events with one label are expected to be equal. */
function labelOf(event: OpenCodeEvent, { session }: Played): string {
  const { properties } = event;
  const of = "sessionID" in properties && properties.sessionID !== session ? "child: " : "";
  switch (event.type) {
    case "message.part.updated": {
      const { part } = event.properties;
      if (part.type === "text" || part.type === "reasoning") {
        return `${of}part ${part.type}${part.text === "" ? ", empty" : ""}`;
      }
      if (part.type !== "tool") return `${of}part ${part.type}`;
      const told = part.state.status === "running" ? Object.values(part.state.metadata ?? {}) : [];
      return `${of}part ${part.tool}, ${part.state.status}${told.some((one) => one !== "") ? " and telling" : ""}`;
    }
    case "message.part.delta":
      return `${of}delta`;
    case "session.status":
      return `${of}${summariseOpenCode(event)}`;
    case "message.updated": {
      const { info } = event.properties;
      if (info.role === "user") return `${of}message user${info.summary === undefined ? "" : " with summary"}`;
      return `${of}message assistant${info.time?.completed === undefined ? "" : ", completed"}`;
    }
    default:
      return `${of}${event.type}`;
  }
}

export function compareConversations({ native, here }: Both): Difference[] {
  const comparison = startComparison();
  compareMessages(comparison, { of: "", native: native.messages, here: here.messages });
  for (const [index, { messages }] of native.children.entries()) {
    compareMessages(comparison, { of: "child: ", native: messages, here: here.children[index]?.messages });
  }
  return comparison.differences;
}

function compareMessages(
  comparison: Comparison,
  { of, native, here }: { of: string; native: unknown; here: unknown },
): void {
  const row = (list: unknown): Labelled[] =>
    listOf(list).map((value) => ({ label: `stored ${of}${fieldsOf(fieldsOf(value).info).role}`, value }));
  const parts = (message: unknown): Labelled[] =>
    listOf(fieldsOf(message).parts).map((value) => ({ label: `stored ${of}${partWords(value)}`, value }));
  for (const pair of alongside(row(native), row(here))) {
    if (pair.native === null || pair.here === null) comparePair(comparison, pair);
    else {
      const [one, other] = [fieldsOf(pair.native.value), fieldsOf(pair.here.value)];
      compareValues(comparison, { native: one.info, here: other.info, where: pair.native.label });
      compareRows(comparison, { native: parts(one), here: parts(other) });
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const partWords = (part: unknown): string => {
  const { type, tool } = fieldsOf(part);
  return type === "tool" ? `part ${tool}` : `part ${type}`;
};

/** What a batch of inputs leaves to remember, encoded once: events, native lines, prompts, items, checkpoint. */
import type { NativeRecord, SessionOutput } from "../core/input.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import { type PromptId, promptId, type SessionId } from "../protocol/ids.ts";
import { encodeSnapshot } from "./checkpoint.ts";
import type { WriteEvent } from "./encode.ts";
import type { Append, Encoded, PromptChange, SessionSettings } from "./log/contract.ts";
import { type LinesWriter, makeRoom, openLinesWriter } from "./log/lines-writer.ts";
import type { Redactor } from "./redact.ts";
import { itemNumber, summarise } from "./summary.ts";

/** A checkpoint is made at every turn's end, and at the latest after this many events. */
const CHECKPOINT_EVENTS = 5_000;
/** …unless it is so large (a long text is still open) that this many times its size has not been said since. */
const CHECKPOINT_SHARE = 4;

/** The native line at hand: what was parsed, and the text it was parsed from. */
export interface Origin {
  readonly value: unknown;
  readonly text: string;
}

export interface Batch {
  readonly add: (output: SessionOutput, origin: Origin | null) => void;
  /** How much is encoded so far. */
  readonly size: () => number;
  /** Null when nothing needs to be remembered. */
  readonly finish: () => Append | null;
}

/** What goes on from batch to batch. */
export interface Pace {
  eventsSinceCheckpoint: number;
  bytesSinceCheckpoint: number;
  checkpointBytes: number;
  /** The prompt of the turn that is open. */
  running: PromptId | null;
}

export const startPace = (snapshot: Snapshot): Pace => ({
  eventsSinceCheckpoint: 0,
  bytesSinceCheckpoint: 0,
  checkpointBytes: 0,
  running:
    snapshot.turn?.prompt_id === undefined || snapshot.turn.prompt_id === null
      ? null
      : promptId(snapshot.turn.prompt_id),
});

export interface BatchOptions {
  readonly id: SessionId;
  readonly settings: SessionSettings;
  readonly snapshot: () => Snapshot;
  readonly redactor: Redactor;
  readonly pace: Pace;
  readonly encode: WriteEvent;
}

// A batch is finished before another one is begun, whichever session it is of.
const eventRoom = makeRoom();
const nativeRoom = makeRoom();

export function openBatch({ id, settings, snapshot, redactor, pace, encode }: BatchOptions): Batch {
  const noted: Noted = { prompts: [], items: [], turnEnded: false };
  const events = openLinesWriter(eventRoom);
  let first = 0;
  let last = 0;
  const native = openLinesWriter(nativeRoom);
  let firstLine = 0;
  let lastLine = 0;
  return {
    add(output, origin) {
      // A prompt is noted as started before the end of its turn can be: both may be in one step.
      for (const effect of output.effects) {
        if (effect.type === "prompt.started") noted.prompts.push({ promptId: effect.prompt_id, status: "started" });
        else if (effect.type === "prompt.dropped")
          noted.prompts.push({ promptId: effect.prompt_id, status: "dropped" });
      }
      for (const event of output.events) {
        if (first === 0) first = event.sequence;
        last = event.sequence;
        encode(event, events);
        if (event.type !== "item.delta") note(noted, { event, pace });
      }
      for (const record of output.native) {
        if (firstLine === 0) firstLine = record.line;
        lastLine = record.line;
        writeNative(record, { lines: native, origin, redactor });
      }
    },
    size: () => events.size() + native.size(),
    finish() {
      const { prompts, items, turnEnded } = noted;
      if (events.size() === 0 && native.size() === 0 && prompts.length === 0) return null;
      pace.eventsSinceCheckpoint += events.size() === 0 ? 0 : last - first + 1;
      pace.bytesSinceCheckpoint += events.size();
      return {
        session: id,
        events: encoded(events, { first, last }),
        native: encoded(native, { first: firstLine, last: lastLine }),
        prompts,
        items,
        summary: summarise({ id, settings, snapshot: snapshot() }),
        checkpoint: isDue(pace, turnEnded) ? checkpoint(pace, snapshot()) : null,
      };
    },
  };
}

interface Noted {
  readonly prompts: PromptChange[];
  readonly items: { number: number; sequence: number }[];
  turnEnded: boolean;
}

function note(noted: Noted, { event, pace }: { event: UniversalEvent; pace: Pace }): void {
  switch (event.type) {
    case "item.completed": {
      const number = itemNumber(event.data.item.item_id);
      if (number !== null) noted.items.push({ number, sequence: event.sequence });
      return;
    }
    case "turn.started":
      pace.running = event.data.prompt_id ?? null;
      return;
    case "turn.ended":
      noted.turnEnded = true;
      if (pace.running !== null) noted.prompts.push({ promptId: pace.running, status: "done" });
      pace.running = null;
      return;
    case "session.ended":
      noted.turnEnded = true;
  }
}

function isDue(pace: Pace, turnEnded: boolean): boolean {
  if (pace.eventsSinceCheckpoint === 0) return false;
  if (turnEnded) return true;
  const share = CHECKPOINT_SHARE * pace.checkpointBytes;
  return pace.eventsSinceCheckpoint >= CHECKPOINT_EVENTS && pace.bytesSinceCheckpoint >= share;
}

function checkpoint(pace: Pace, snapshot: Snapshot) {
  const state = encodeSnapshot(snapshot);
  pace.eventsSinceCheckpoint = 0;
  pace.bytesSinceCheckpoint = 0;
  pace.checkpointBytes = state.length;
  return { sequence: snapshot.sequence, state };
}

const encoded = (writer: LinesWriter, { first, last }: { first: number; last: number }): Encoded | null =>
  writer.size() === 0 ? null : { first, last, bytes: writer.finish() };

interface NativeContext {
  readonly lines: LinesWriter;
  readonly origin: Origin | null;
  readonly redactor: Redactor;
}

function writeNative({ line, from, native, at }: NativeRecord, { lines, origin, redactor }: NativeContext): void {
  const known = origin !== null && origin.value === native;
  lines.text('{"line":');
  lines.integer(line);
  lines.text(`,"time":"${isoTime(at)}","from":"${from}","native":`);
  lines.text(known ? origin.text : (JSON.stringify(redactor.value(native)) ?? "null"));
  lines.text("}");
  lines.endLine();
}

let lastAt = Number.NaN;
let lastTime = "";

/** Lines of one batch mostly share their millisecond. */
function isoTime(at: number): string {
  if (at !== lastAt) {
    lastAt = at;
    lastTime = new Date(at).toISOString();
  }
  return lastTime;
}

/** What a batch of inputs leaves to remember, encoded once: events, native lines, prompts, items, checkpoint. */
import type { NativeRecord, SessionOutput } from "../../core/input.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { type PromptId, promptId, type SessionId } from "../../protocol/ids.ts";
import { type LinesWriter, makeRoom, openLinesWriter } from "../log/codec/lines-writer.ts";
import { openNativePacker } from "../log/codec/native-packing.ts";
import { openPacker } from "../log/codec/packing.ts";
import type { Append, Packed, PromptChange, SessionSettings } from "../log/contract.ts";
import type { Redactor } from "../redact.ts";
import { encodeSnapshot } from "./checkpoint.ts";
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
  /** How much there is so far: native lines, and events as they will be told. */
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
}

// A batch is finished before another one is begun, whichever session it is of.
const eventRoom = makeRoom();
const nativeRoom = makeRoom();

export function openBatch({ id, settings, snapshot, redactor, pace }: BatchOptions): Batch {
  const noted: Noted = { prompts: [], items: [], turnEnded: false };
  const events = openLinesWriter(eventRoom);
  const packer = openPacker(events);
  let first = 0;
  let last = 0;
  const native = openLinesWriter(nativeRoom);
  const packNative = openNativePacker(native);
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
        packer.add(event);
        if (event.type !== "item.delta") note(noted, { event, pace });
      }
      for (const record of output.native) {
        if (firstLine === 0) firstLine = record.line;
        lastLine = record.line;
        const { line, at, from } = record;
        packNative({ line, at, from, text: nativeText(record, { origin, redactor }) });
      }
    },
    size: () => packer.told() + native.size(),
    finish() {
      const { prompts, items, turnEnded } = noted;
      if (events.size() === 0 && native.size() === 0 && prompts.length === 0) return null;
      pace.eventsSinceCheckpoint += events.size() === 0 ? 0 : last - first + 1;
      pace.bytesSinceCheckpoint += packer.told();
      return {
        session: id,
        events: packed(events, { first, last }),
        native: packed(native, { first: firstLine, last: lastLine }),
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

const packed = (writer: LinesWriter, { first, last }: { first: number; last: number }): Packed | null =>
  writer.size() === 0 ? null : { first, last, packed: writer.finish() };

function nativeText(
  { native }: NativeRecord,
  { origin, redactor }: { origin: Origin | null; redactor: Redactor },
): string {
  // A line that came with newlines in it, as events over HTTP may, is written anew.
  if (origin !== null && origin.value === native && !origin.text.includes("\n")) return origin.text;
  return JSON.stringify(redactor.value(native)) ?? "null";
}

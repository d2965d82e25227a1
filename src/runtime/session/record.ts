/** What the writer stores for a batch of inputs: events, native lines, prompt states, items and a checkpoint. */
import type { NativeRecord, SessionOutput } from "../../core/input.ts";
import type { RepeatedDelta } from "../../core/repeat.ts";
import { SNAPSHOT_ITEMS, type Snapshot } from "../../core/snapshot.ts";
import type { UniversalEvent } from "../../protocol/events.ts";
import { itemNumber, type PromptId, promptId, type SessionId } from "../../protocol/ids.ts";
import { encodeSnapshot } from "../log/checkpoints.ts";
import type { Append, EntryWriter, PromptChange, SessionSettings } from "../log/contract.ts";
import type { Redactor } from "../redact.ts";
import { summarise } from "./summary.ts";

/** A checkpoint is made at a turn's end, and at the latest after this many events… */
const CHECKPOINT_EVENTS = 5_000;
/** …unless the last one was large and fewer than so many times its size were written since: at an end, and before. */
const SHARE_AT_END = 2;
const SHARE_BEFORE = 4;
const LARGE_CHECKPOINT = 8 * 1024;
/** With more items than this, nearly all open, a checkpoint would stall other sessions: it waits until few are left. */
const MOST_ITEMS = 10 * SNAPSHOT_ITEMS;

/** The native line at hand: what was parsed, and the text it was parsed from. */
export interface Origin {
  readonly value: unknown;
  readonly text: string;
}

export interface Recorder {
  readonly add: (output: SessionOutput, origin: Origin | null) => void;
  readonly repeat: (repeated: RepeatedDelta) => void;
  /** Bytes so far: native lines, and events in full. */
  readonly size: () => number;
  /** Null when there is nothing to store. */
  readonly finish: () => Append | null;
}

/** What is kept from one batch to the next. */
export interface RecordState {
  eventsSinceCheckpoint: number;
  bytesSinceCheckpoint: number;
  checkpointBytes: number;
  /** The prompt of the turn that is open. */
  running: PromptId | null;
}

export const startRecordState = (snapshot: Snapshot): RecordState => ({
  eventsSinceCheckpoint: 0,
  bytesSinceCheckpoint: 0,
  checkpointBytes: 0,
  running:
    snapshot.turn?.prompt_id === undefined || snapshot.turn.prompt_id === null
      ? null
      : promptId(snapshot.turn.prompt_id),
});

export interface RecorderOptions {
  readonly id: SessionId;
  readonly settings: SessionSettings;
  readonly snapshot: () => Snapshot;
  readonly redactor: Redactor;
  readonly state: RecordState;
  readonly writer: EntryWriter;
}

export function openRecorder(options: RecorderOptions): Recorder {
  const { id, settings, snapshot, state, writer } = options;
  const noted: Noted = { prompts: [], items: [], turnEnded: false };
  return {
    add: (output, origin) => add(options, noted, { output, origin }),
    repeat: writer.repeat,
    size: writer.size,
    finish() {
      const { prompts, items, turnEnded } = noted;
      const { events, native } = writer.finish();
      if (events === null && native === null && prompts.length === 0) return null;
      state.eventsSinceCheckpoint += events === null ? 0 : events.last - events.first + 1;
      state.bytesSinceCheckpoint += events?.wholeBytes ?? 0;
      return {
        session: id,
        events,
        native,
        prompts,
        items,
        summary: summarise({ id, settings, snapshot: snapshot() }),
        checkpoint:
          snapshot().items.size <= MOST_ITEMS && isDue(state, turnEnded) ? checkpoint(state, snapshot()) : null,
      };
    },
  };
}

interface Adding {
  readonly output: SessionOutput;
  readonly origin: Origin | null;
}

function add({ writer, state, redactor }: RecorderOptions, noted: Noted, { output, origin }: Adding): void {
  // A prompt is noted as started before the end of its turn can be: both may be in one step.
  for (const effect of output.effects) {
    if (effect.type === "prompt.started") noted.prompts.push({ promptId: effect.prompt_id, status: "started" });
    else if (effect.type === "prompt.dropped") noted.prompts.push({ promptId: effect.prompt_id, status: "dropped" });
  }
  for (const event of output.events) {
    writer.event(event);
    if (event.type !== "item.delta") note(noted, { event, state });
  }
  for (const record of output.native) {
    const { line, at, from } = record;
    writer.native({ line, at, from, text: nativeText(record, { origin, redactor }) });
  }
}

interface Noted {
  readonly prompts: PromptChange[];
  readonly items: { number: number; sequence: number }[];
  turnEnded: boolean;
}

function note(noted: Noted, { event, state }: { event: UniversalEvent; state: RecordState }): void {
  switch (event.type) {
    case "item.completed": {
      const number = itemNumber(event.data.item.item_id);
      if (number !== null) noted.items.push({ number, sequence: event.sequence });
      return;
    }
    case "turn.started":
      state.running = event.data.prompt_id ?? null;
      return;
    case "turn.ended":
      noted.turnEnded = true;
      if (state.running !== null) noted.prompts.push({ promptId: state.running, status: "done" });
      state.running = null;
      return;
    case "session.ended":
      noted.turnEnded = true;
  }
}

function isDue(state: RecordState, turnEnded: boolean): boolean {
  if (state.eventsSinceCheckpoint === 0) return false;
  const { checkpointBytes, bytesSinceCheckpoint } = state;
  if (turnEnded) return checkpointBytes < LARGE_CHECKPOINT || bytesSinceCheckpoint >= SHARE_AT_END * checkpointBytes;
  return state.eventsSinceCheckpoint >= CHECKPOINT_EVENTS && bytesSinceCheckpoint >= SHARE_BEFORE * checkpointBytes;
}

function checkpoint(state: RecordState, snapshot: Snapshot) {
  const encoded = encodeSnapshot(snapshot);
  state.eventsSinceCheckpoint = 0;
  state.bytesSinceCheckpoint = 0;
  state.checkpointBytes = encoded.length;
  return { sequence: snapshot.sequence, state: encoded };
}

function nativeText(
  { native }: NativeRecord,
  { origin, redactor }: { origin: Origin | null; redactor: Redactor },
): string {
  // A line with newlines in it (events over HTTP may have them) is encoded again.
  if (origin !== null && origin.value === native && !origin.text.includes("\n")) return origin.text;
  return JSON.stringify(redactor.value(native)) ?? "null";
}

/**
 * Writes recorded turns into a session's log, with their own times. The session is not open meanwhile: this is its
 * writer. Nothing is performed of what the turn machine asks for, since all of it has happened.
 */
import type { Adapter } from "../../core/adapter.ts";
import type { SessionInput, SessionOutput } from "../../core/input.ts";
import type { Recorded } from "../../core/recorded.ts";
import { recordedPolicy, replay } from "../../core/replay.ts";
import { openSession } from "../../core/session.ts";
import { emptySnapshot, type Snapshot } from "../../core/snapshot.ts";
import type { SessionId } from "../../protocol/ids.ts";
import type { SessionSettings } from "../log/contract.ts";
import { openRedactor, type Redactor } from "../redact.ts";
import { openRecorder, startRecordState } from "./record.ts";
import type { Runtime } from "./runtime.ts";

const GROUP_BYTES = 256 * 1024;

export interface Import {
  readonly id: SessionId;
  readonly adapter: Adapter;
  readonly settings: SessionSettings;
  readonly records: readonly Recorded[];
  /** A new session: what is known of it. */
  readonly opened?: Extract<SessionInput, { type: "opened" }>;
  /** A session that has begun: its state, and how many native lines it has. */
  readonly begun?: { readonly snapshot: Snapshot; readonly nativeLines: number };
}

export async function importTurns({ log, options }: Runtime, asked: Import): Promise<void> {
  const { id, adapter, settings, begun } = asked;
  const session = openSession({
    sessionId: id,
    adapter,
    policy: recordedPolicy,
    connected: true,
    snapshot: begun?.snapshot ?? emptySnapshot(),
    nativeLines: begun?.nativeLines ?? 0,
  });
  const redactor = openRedactor({ token: options.token ?? null, sessionEnv: {}, mcp: {}, environment: process.env });
  const state = startRecordState(session.snapshot());
  const start = begun === undefined ? 0 : Date.parse(begun.snapshot.time);
  const outputs = outputsOf(asked, { redactor, session, start });
  for (let next = outputs.next(); next.done !== true; ) {
    // One group is encoded in one go: the log's encoder is shared.
    const recorder = openRecorder({
      id,
      settings,
      snapshot: session.snapshot,
      redactor,
      state,
      writer: log.openWriter(),
    });
    while (next.done !== true && recorder.size() < GROUP_BYTES) {
      recorder.add(next.value, null);
      next = outputs.next();
    }
    const append = recorder.finish();
    if (append !== null) await log.append(append);
  }
}

interface Stepping {
  readonly redactor: Redactor;
  readonly session: ReturnType<typeof openSession>;
  readonly start: number;
}

function* outputsOf(
  { opened, records }: Import,
  { redactor, session, start }: Stepping,
): Generator<SessionOutput, void> {
  if (opened !== undefined) yield session.step(opened);
  const end: Recorded = { type: "exit", exit: { code: null, signal: null }, at: null };
  const hidden = [...records, end].map((record): Recorded => {
    return record.type === "line" ? { ...record, line: redactor.value(record.line) } : record;
  });
  yield* replay(session, hidden, opened?.at ?? start);
}

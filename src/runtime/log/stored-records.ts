/**
 * Sessions, prompts and checkpoints as they are in the rows of a database. One that is not as it was written is marked
 * as damaged, and nothing runs because of it.
 */
import type { Prompt } from "../../protocol/commands.ts";
import { promptId } from "../../protocol/ids.ts";
import type { SessionSummary } from "../../protocol/resources.ts";
import { areSettingsWhole, isPromptWhole, isSum, isSummaryWhole, MAY_HAVE_RUN, textChecksum } from "./checksum.ts";
import type {
  Checkpoint,
  PromptRefusal,
  PromptStatus,
  SessionRecord,
  SessionSettings,
  StoredPrompt,
} from "./contract.ts";
import { idIn, integer, ownerIn, type Row, text } from "./rows.ts";
import { restore } from "./secrets.ts";

/**
 * The record in a row of `sessions`. Settings that come from a log of several hosts have values withheld: this host may
 * have them in its environment.
 */
export function toRecord(row: Row): SessionRecord {
  const stored = areSettingsWhole(row) ? parsed<SessionSettings>(text(row, "settings")) : null;
  const settings = stored?.withheld === undefined ? stored : restore(stored);
  const summary = isSummaryWhole(row) ? parsed<SessionSummary>(text(row, "summary")) : null;
  return {
    id: idIn(row),
    settings: settings ?? restrictedSettings(row),
    summary: summary ?? unknownSummary(row),
    owner: ownerIn(row, "owner"),
    ...(summary === null ? { summaryDamaged: true } : {}),
  };
}

/** Null for invalid JSON. */
function parsed<T>(json: string): T | null {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Enough to read the session: its agent and its directory have columns of their own. */
const restrictedSettings = (row: Row): SessionSettings => ({
  create: { agent: text(row, "agent"), directory: text(row, "directory") },
  forkOf: null,
  damaged: true,
});

/** Until it is computed from the events. */
const unknownSummary = (row: Row): SessionSummary => ({
  sessionId: text(row, "id"),
  agent: text(row, "agent"),
  agentMode: null,
  permissionMode: "default",
  model: null,
  variant: null,
  nativeSessionId: null,
  status: "idle",
  ended: false,
  eventCount: integer(row, "last"),
  lastSequence: integer(row, "last"),
  createdAt: new Date(0).toISOString(),
  updatedAt: new Date(0).toISOString(),
  directory: text(row, "directory"),
  title: null,
});

export function toPrompt(row: Row): StoredPrompt {
  const prompt = parsed<Prompt>(text(row, "body"));
  const refusal = refusalOf(row, prompt);
  return {
    prompt: prompt ?? { prompt_id: promptId(text(row, "id")), text: "", attachments: [] },
    delivery: text(row, "delivery") === "steer" ? "steer" : "queue",
    idempotencyKey: typeof row.idempotency_key === "string" ? row.idempotency_key : null,
    status: statusIn(row),
    sequence: integer(row, "sequence"),
    ...(refusal === null ? {} : { refusal }),
  };
}

function refusalOf(row: Row, prompt: Prompt | null): PromptRefusal | null {
  if (Number(row.checksum ?? 0) === MAY_HAVE_RUN) return "may_have_run";
  return prompt === null || !isPromptWhole(row) ? "damaged" : null;
}

const STATUSES: readonly PromptStatus[] = ["queued", "started", "done", "dropped"];
const statusIn = (row: Row): PromptStatus => STATUSES.find((status) => status === text(row, "status")) ?? "dropped";

/** A damaged checkpoint is rebuilt from the events, as if there were none. */
export const checkpointIn = (row: Row): Checkpoint | null =>
  isSum(row.checksum, textChecksum(text(row, "state")))
    ? { sequence: integer(row, "sequence"), state: text(row, "state") }
    : null;

/** When the session of a row (`summary`) was created; 1970 where that cannot be read. */
export function createdAtIn(row: Row): string {
  const createdAt = parsed<SessionSummary>(text(row, "summary"))?.createdAt;
  const time = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  return new Date(Number.isNaN(time) ? 0 : time).toISOString();
}

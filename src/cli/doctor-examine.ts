/** One agent on trial: a turn with a scripted model, and what was heard of it. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../core/defined.ts";
import type { Trial } from "../core/trial.ts";
import type { UniversalEvent } from "../protocol/events.ts";
import type { AgentSummary, HideDataState } from "../protocol/resources.ts";
import { lint, universal } from "../rules/index.ts";
import { timeoutSignal } from "../runtime/timeout-signal.ts";
import { openRuntime, type RuntimeSettings } from "../server/compose.ts";
import { CHANGED, prepare, promptOf, README, serveModel } from "./doctor-trial.ts";
import type { Door } from "./door.ts";
import { embeddedDoor } from "./door-embedded.ts";
import { nativeLines, runTurn } from "./one-turn.ts";

/** A cold start of a large program on a slow machine takes its time. */
const TURN_MS = 120_000;
const PAGE = 5_000;
const SHOWN_LINES = 3;
const STOP = { terminateMs: 2_000, killMs: 4_000 };

/** `seen`: it is there, and cannot be tried. */
export type State = "well" | "wrong" | "seen" | "absent";

export interface Finding {
  readonly agent: string;
  readonly state: State;
  readonly version: string | null;
  readonly path: string | null;
  /** Whether it has what it needs to log in; null when that was not looked for. */
  readonly login: boolean | null;
  /** Whether the data folder is hidden from it. */
  readonly hideData: HideDataState;
  /** How the turn ended; null when it did not, or none was run. */
  readonly turn: string | null;
  /** Whether the file has the new line; null when that is not asked of the agent. */
  readonly changed: boolean | null;
  /** Lines that the agent said. */
  readonly nativeLines: number;
  /** Those among them that were not understood. */
  readonly unparsed: number;
  readonly firstUnparsed: readonly string[];
  /** Rules that its events break. */
  readonly violations: readonly string[];
  /** What to do, in a sentence. */
  readonly advice: string;
}

/** The settings of the user that count for a trial too. */
export interface Laboratory extends Pick<RuntimeSettings, "hideData" | "secretFiles"> {
  /** Where agents are installed. */
  readonly data: string;
}

export interface Examination extends Laboratory {
  readonly summary: AgentSummary;
  readonly signal: AbortSignal;
}

/** Sessions of their own: nothing is stored, no settings or plugins of the user take part. */
export const openLaboratory = async ({ data, hideData, secretFiles }: Laboratory): Promise<Door> =>
  embeddedDoor(
    await openRuntime({
      data,
      ...defined({ hideData, secretFiles }),
      store: "memory",
      durability: "normal",
      watchdogMs: null,
      passEnv: [],
      role: "embedded",
      stop: STOP,
      token: null,
    }),
  );

export async function examine(trial: Trial, examination: Examination): Promise<Finding> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "franca-doctor-")));
  const work = join(folder, "work");
  const file = join(work, "README.md");
  mkdirSync(work);
  writeFileSync(file, README);
  const model = await serveModel(trial, { file });
  try {
    const env = prepare(trial.setup({ folder, url: model.url }));
    const door = await openLaboratory(examination);
    try {
      const heard = await listen(trial, { door, env, directory: work, ...examination });
      const changed = trial.pretence === undefined ? readFileSync(file, "utf8") === CHANGED : null;
      return findingOf({ ...heard, changed, summary: examination.summary });
    } finally {
      await door.close();
    }
  } finally {
    await model.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Listening extends Examination {
  readonly door: Door;
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}

interface Heard {
  readonly events: readonly UniversalEvent[];
  readonly nativeLines: number;
}

async function listen(trial: Trial, { door, env, directory, summary, signal }: Listening): Promise<Heard> {
  const id = `doctor-${summary.id}`;
  await door.create(id, { agent: summary.id, directory, permissionMode: trial.permissionMode, env });
  const deadline = timeoutSignal({ signal, ms: TURN_MS });
  await runTurn({ door, id, prompt: promptOf(trial), rule: "approve", signal: deadline });
  const { events } = await door.events(id, { offset: 0, limit: PAGE, includeRaw: false });
  const lines = await nativeLines(door, id);
  return { events, nativeLines: lines.filter(({ from }) => from === "agent").length };
}

interface Seen extends Heard {
  readonly summary: AgentSummary;
  readonly changed: boolean | null;
}

function findingOf({ events, nativeLines, changed, summary }: Seen): Finding {
  const end = events.findLast((event) => event.type === "turn.ended");
  const ended = end?.type === "turn.ended" ? end.data : null;
  const unparsed = events.flatMap((event) => (event.type === "agent.unparsed" ? [event.data.error] : []));
  const violations = lint(universal, events).map(({ rule, message }) => `${rule}: ${message}`);
  const problem = problemOf({
    agent: summary.id,
    reason: ended?.reason ?? null,
    error: ended?.error?.message ?? null,
    changed,
    unparsed: unparsed.length,
    violations: violations.length,
  });
  return {
    ...aboutOf(summary),
    state: problem === null ? "well" : "wrong",
    turn: ended === null ? null : ended.reason,
    changed,
    nativeLines,
    unparsed: unparsed.length,
    firstUnparsed: unparsed.slice(0, SHOWN_LINES),
    violations,
    advice: problem ?? "nothing: all is well",
  };
}

interface Symptoms {
  readonly agent: string;
  readonly reason: string | null;
  readonly error: string | null;
  readonly changed: boolean | null;
  readonly unparsed: number;
  readonly violations: number;
}

/** The gravest first; null when there is none. */
function problemOf({ agent, reason, error, changed, unparsed, violations }: Symptoms): string | null {
  if (reason === null) return `it did not finish in ${TURN_MS / 1_000} s: try ${agent} by itself in a terminal`;
  if (reason !== "completed") return `the turn ended with ${reason}${error === null ? "" : ` (${error})`}`;
  if (unparsed > 0)
    return `it says what this Franca does not know: look for a newer one, or report it with a recording (franca record --agent ${agent})`;
  if (changed === false) return "its tools did not do what they were asked: this version may call them otherwise";
  if (violations > 0) return "its events break rules that clients rely on: report it with a recording";
  return null;
}

const aboutOf = ({ id, version, path, hideData }: AgentSummary) => ({
  agent: id,
  version: version ?? null,
  path: path ?? null,
  login: null,
  hideData,
});

/** For agents on which no turn was run. */
export const unexamined = (
  summary: AgentSummary,
  { state, advice }: { readonly state: State; readonly advice: string },
): Finding => ({
  ...aboutOf(summary),
  state,
  turn: null,
  changed: null,
  nativeLines: 0,
  unparsed: 0,
  firstUnparsed: [],
  violations: [],
  advice,
});

/**
 * The forms in which a stream may be recorded. Each line shows its own form, so a file needs no label:
 * ours `{t, from, line}`, `{t, dir, msg}`, `{t, event}`, `{process}`, an HTTP log, our API's native lines, or the
 * agent's own lines as it printed them.
 */
import { fields, isBoolean, isListOf, isNumber, isOneOf, isShape, isString, nullable, type Shape } from "./shape.ts";

export interface RecordedExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** `at` is null where neither the recording nor the line has a time. */
export type Recorded =
  | { readonly type: "line"; readonly from: "agent" | "host"; readonly line: unknown; readonly at: number | null }
  | { readonly type: "unreadable"; readonly text: string; readonly error: string; readonly at: number | null }
  | { readonly type: "exit"; readonly exit: RecordedExit; readonly at: number | null }
  | (RecordedInspection & { readonly type: "inspected"; readonly at: number | null });

/** Result of the inspection of a permission request, stored before the decision. */
export interface RecordedInspection {
  readonly key: string;
  /** Null if there is none, or if it has another shape. */
  readonly inspection: InspectionShape | null;
  readonly plugin?: "allow" | "deny" | undefined;
}

interface InspectionShape {
  readonly commands: readonly {
    readonly text: string;
    readonly spellings: readonly string[];
    readonly runsText: boolean;
  }[];
  readonly paths: readonly {
    readonly written: string;
    readonly path: string;
    readonly inside: boolean;
    readonly access: "read" | "write" | "unknown";
    readonly runsCode: boolean;
  }[];
  readonly opaque: string | null;
}

const EXCERPT = 160;

const isSpeaker = isOneOf(["agent", "host", "process"]);
const isSide = isOneOf(["client", "server", "process"]);

/** Reads one line of text. Empty lines give null. */
export function readRecorded(text: string): Recorded | null {
  if (text.trim() === "") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not the parser's own words, which differ between versions of the runtime: the same input gives the same bytes.
    return { type: "unreadable", text, error: `Not JSON: ${text.slice(0, EXCERPT)}`, at: null };
  }
  return recordedFrom(value);
}

export function recordedFrom(value: unknown): Recorded {
  if (!isShape(value)) return { type: "line", from: "agent", line: value, at: null };
  const at = isNumber(value.t) ? value.t : null;
  if (at !== null && isSpeaker(value.from) && "line" in value) return said(value.from, value.line, at);
  if (isSpeaker(value.from) && isString(value.time) && isNumber(value.line) && "native" in value) {
    return said(value.from, value.native, instant(value.time));
  }
  if (isSide(value.dir) && "msg" in value) return said(speakers[value.dir], value.msg, at);
  if (at !== null && isSide(value.dir) && isString(value.method) && isString(value.path)) return exchanged(value, at);
  if (at !== null && "event" in value) return said("agent", value.event, at);
  if (isShape(value.process) && (at !== null || Object.keys(value).length === 1))
    return said("process", value.process, at);
  return { type: "line", from: "agent", line: value, at: ownTime(value) };
}

const speakers = { client: "host", server: "agent", process: "process" } as const;

function said(from: "agent" | "host" | "process", line: unknown, at: number | null): Recorded {
  if (from !== "process") return { type: "line", from, line, at };
  if (isShape(line) && isShape(line.inspected) && isString(line.inspected.key)) {
    return { type: "inspected", ...inspectionOf(line.inspected.key, line.inspected), at };
  }
  return { type: "exit", exit: exitOf(line), at };
}

function inspectionOf(key: string, { inspection, plugin }: Shape): RecordedInspection {
  const answer = isAnswer(plugin) ? { plugin } : {};
  return { key, inspection: isInspection(inspection) ? inspection : null, ...answer };
}

const isAnswer = (value: unknown): value is "allow" | "deny" => value === "allow" || value === "deny";

const isCommand = fields({ text: isString, spellings: isListOf(isString), runsText: isBoolean });
const isPath = fields({
  written: isString,
  path: isString,
  inside: isBoolean,
  access: isOneOf(["read", "write", "unknown"]),
  runsCode: isBoolean,
});
const checksInspection = fields({ commands: isListOf(isCommand), paths: isListOf(isPath), opaque: nullable(isString) });
const isInspection = (value: unknown): value is InspectionShape => checksInspection(value);

/** `{exit: {code, signal}}` as we write it, `{exit: code, signal}` as others do. */
function exitOf(value: unknown): RecordedExit {
  if (!isShape(value)) return { code: null, signal: null };
  if (isShape(value.exit)) return exitOf({ ...value.exit, exit: value.exit.code });
  return { code: isNumber(value.exit) ? value.exit : null, signal: isString(value.signal) ? value.signal : null };
}

/** A call or an answer of an HTTP log. The log gives no ids: method and path name the exchange. */
function exchanged(value: Shape, at: number): Recorded {
  const { method, path, status, body } = value;
  const id = `${method} ${path}`;
  if (value.dir === "client") return said("host", { request: { id, method, path, body } }, at);
  return said("agent", { response: { id, status, body } }, at);
}

/** The time that a native line carries. */
function ownTime(line: Shape): number | null {
  const time = line.timestamp ?? line.emittedAtMs;
  if (isNumber(time)) return time;
  return isString(time) ? instant(time) : null;
}

function instant(text: string): number | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** The page of limits, made from the constants themselves: what is written there is what the code does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./transcripts.ts";

interface Limit {
  readonly what: string;
  /** Of src/, and the constant or field in it. */
  readonly file: string;
  readonly name: string;
  readonly unit: "bytes" | "ms" | "count";
  /** How it is changed; empty where it is fixed. */
  readonly change: string;
}

const limit =
  (unit: Limit["unit"]) =>
  (what: string, place: string, change = ""): Limit => {
    const [file = "", name = ""] = place.split(" ");
    return { what, file, name, unit, change };
  };
const bytes = limit("bytes");
const ms = limit("ms");
const count = limit("count");

const tables: readonly (readonly [string, readonly Limit[]])[] = [
  [
    "Turns",
    [
      ms(
        "an agent is silent with nothing open: the turn ends",
        "core/input.ts watchdogMs",
        "`--watchdog-ms`, `watchdogMs`",
      ),
      ms("an end signal with open tool calls: the turn ends after so much silence", "core/input.ts graceMs"),
      ms(
        "a permission or question without an answer is rejected",
        "core/input.ts DEADLINE_MS",
        "`unattended.deadlineMs`",
      ),
      ms("an agent has to obey an abort before it is stopped", "core/input.ts abortMs"),
      ms("plugins have to answer at a turn's end", "core/input.ts SETTLE_MS"),
      count("prompts that wait in a session (409)", "runtime/session/prompt.ts QUEUED_PROMPTS"),
      count("continuations per prompt, by default", "core/governor.ts DEFAULT_CONTINUATIONS", "`finishTodos`"),
      count("continuations per prompt, at most", "core/governor.ts CONTINUATIONS_CAP"),
    ],
  ],
  [
    "Requests",
    [
      bytes("body of a request, attachments included (413)", "server/compose.ts MAX_BODY_BYTES"),
      ms("headers of a request have to arrive", "server/http/server.ts headersMs"),
      ms("a whole request has to arrive", "server/http/server.ts requestMs"),
      count("open connections", "server/http/server.ts connections"),
      count("of them without a credential; the oldest is closed", "server/http/server.ts UNAUTHENTICATED"),
      bytes("body of a request without a credential (413)", "server/http/server.ts MAX_OPEN_BODY_BYTES"),
      ms("between two heartbeats of a silent stream", "server/compose.ts HEARTBEAT_MS"),
      count("events of one page, by default", "server/api/events.ts DEFAULT_LIMIT", "`limit`"),
      count("events of one page, at most", "server/api/events.ts MAX_LIMIT"),
      count("sessions of one page, at most", "server/api/sessions.ts MAX_SESSIONS"),
      count("items of a session's snapshot, at most", "server/api/sessions.ts MAX_ITEMS"),
      count("characters of an idempotency key", "server/api/turns.ts MAX_KEY_LENGTH"),
      ms("a login code is valid", "server/credentials/store.ts CODE_MS"),
      ms("a page's login is valid", "server/credentials/store.ts PAGE_MS"),
      count("login codes at once; the oldest go", "server/credentials/store.ts MAX_CODES"),
      count("stored credentials; the oldest go", "server/credentials/store.ts MAX_CREDENTIALS"),
    ],
  ],
  [
    "Agents",
    [
      bytes("one native line; a longer one becomes `agent.unparsed`", "runtime/agent/lines.ts LINE_LIMIT"),
      bytes(
        "unfinished native lines of all agents; the line that exceeds it becomes `agent.unparsed`",
        "runtime/agent/lines.ts ALL_LINES_LIMIT",
      ),
      bytes(
        "what is kept of a native line that cannot be read",
        "runtime/agent/connection/parse-line.ts UNREADABLE_LIMIT",
      ),
      count("nesting of a native line", "core/json.ts DEPTH_LIMIT"),
      bytes(
        "lines that wait for the disk before reading from the agent pauses",
        "runtime/session/writer.ts BEHIND_BYTES",
      ),
      bytes("input that waits for an agent that does not read", "runtime/agent/process.ts INPUT_LIMIT"),
      bytes("head and tail of stderr, each", "runtime/agent/process.ts STDERR_EXCERPT_BYTES"),
      ms("an agent without work is stopped", "runtime/session/runtime.ts IDLE_MS"),
      ms("a session without work is unloaded from memory", "runtime/session/unload.ts UNLOAD_MS"),
      count(
        "open sessions, before agents inside the daemon (`mock`, `builtin`) are stopped with that",
        "runtime/session/unload.ts KEPT_SESSIONS",
      ),
      ms("an agent's own server has to be ready", "runtime/agent/connection/http.ts READY_MS"),
      count("lines held for a thread that no session knows yet", "core/route.ts HELD_LINES_LIMIT"),
      bytes("file that an ACP agent reads through Franca", "runtime/agent/host/files.ts READ_LIMIT"),
      bytes("file that an ACP agent writes through Franca", "runtime/agent/host/files.ts WRITE_LIMIT"),
      count("terminals of an ACP agent", "runtime/agent/host/terminals.ts TERMINALS_LIMIT"),
      bytes("output of such a terminal", "runtime/agent/host/terminals.ts OUTPUT_LIMIT"),
    ],
  ],
  [
    "The builtin agent",
    [
      count("model steps of a turn", "builtin/session.ts DEFAULT_MAX_STEPS", "`builtin.maxSteps`"),
      count("characters of a tool's output that the model sees", "builtin/tools/bound.ts OUTPUT_LIMIT"),
      ms("a shell command, by default", "builtin/tools/bash.ts DEFAULT_TIMEOUT_MS"),
      ms("a shell command, at most", "builtin/tools/bash.ts MAX_TIMEOUT_MS"),
      bytes("file that can be edited", "builtin/tools/files.ts EDIT_LIMIT_BYTES"),
      bytes("page that is fetched", "builtin/tools/webfetch.ts BODY_LIMIT_BYTES"),
      count("the same call with the same result before it is asked about", "builtin/calls.ts DOOM_LIMIT"),
    ],
  ],
  [
    "The daemon",
    [
      ms("agents have to stop when the daemon stops", "runtime/session/shutdown.ts STOP_MS"),
      ms("clients have to take the rest when the daemon stops", "server/compose.ts CLOSE_MS"),
      ms("between two looks for sessions of dead processes", "runtime/session/sessions.ts RECOVERY_MS"),
      ms("another process that writes is waited for", "runtime/log/sqlite/database.ts BUSY_MS"),
      bytes("newest events in memory for clients that keep up", "runtime/log/follow.ts TAIL_BYTES"),
      bytes("`daemon.log` before it moves on", "runtime/log-file.ts LOG_MAX_BYTES"),
      count("former parts of `daemon.log`", "runtime/log-file.ts LOG_KEPT_FILES"),
      ms("between two looks for sessions to delete", "runtime/session/retention.ts RETENTION_MS"),
      count("sessions that retention deletes at a time", "runtime/session/retention.ts RETENTION_STEP"),
      ms("`--max-disk` spares sessions used within", "runtime/session/delete.ts IN_USE_MS"),
      count("webhooks", "runtime/webhooks/webhooks.ts MAX_WEBHOOKS"),
      count("tries to deliver to a webhook", "runtime/webhooks/courier.ts MAX_TRIES"),
    ],
  ],
  [
    "The inspector",
    [
      count("events that a page opens a session with", "../web/state/session.ts TAIL"),
      count("events that a page holds", "../web/state/session.ts MOST_EVENTS"),
    ],
  ],
];

const HEAD = `# Limits

Every wait has a bound and every buffer a size. This page is made from the constants themselves (\`npm run docs\`). Where the
last column is empty, the limit is fixed.
`;

export function limitsPage(): string {
  const sections = tables.map(([title, limits]) => {
    const rows = limits.map((one) => `| ${one.what} | ${shown(one)} |${one.change === "" ? "" : ` ${one.change}`} |`);
    return [`\n## ${title}\n`, "| limit | value | changed by |", "|---|---|---|", ...rows, ""].join("\n");
  });
  return [HEAD, ...sections].join("");
}

function shown(one: Limit): string {
  const value = numberOf(one);
  switch (one.unit) {
    case "bytes":
      return inUnits(value, [
        ["MiB", 1_048_576],
        ["KiB", 1024],
        ["bytes", 1],
      ]);
    case "ms":
      return inUnits(value, [
        ["days", 86_400_000],
        ["h", 3_600_000],
        ["min", 60_000],
        ["s", 1000],
        ["ms", 1],
      ]);
    case "count":
      return value.toLocaleString("en");
  }
}

function inUnits(value: number, units: readonly (readonly [string, number])[]): string {
  const [name, size] = units.find(([, each]) => value % each === 0) ?? ["", 1];
  return `${value / size} ${name}`;
}

/** A product of numbers, as it stands in the source. */
function numberOf({ file, name }: Limit): number {
  const source = readFileSync(join(root, "src", file), "utf8");
  const [, product] = new RegExp(`(?:const ${name} = |\\b${name}: )([\\d_ *]+)[,;} ]`).exec(source) ?? [];
  if (product === undefined) throw new Error(`src/${file} has no number called ${name}.`);
  return product.split("*").reduce((sum, part) => sum * Number(part.replaceAll("_", "").trim()), 1);
}

/**
 * Counters of what passes through the log, in Prometheus' text format. One more reader of the log, and a frugal one.
 */
import type { UniversalEvent } from "../protocol/events.ts";
import type { SessionSummary } from "../protocol/resources.ts";
import { type Background, followGroups, type RunningTask, taskNames } from "../runtime/background.ts";
import type { EventGroup } from "../runtime/log/contract.ts";
import type { Sessions } from "../runtime/session/contract.ts";

export interface Metrics {
  readonly render: (sessions: AsyncIterable<SessionSummary>) => Promise<string>;
}

interface Counts {
  events: number;
  unparsed: number;
  turnsStarted: number;
  readonly turnsEnded: Map<string, number>;
  /** Requests that wait for an answer, by id. */
  readonly permissions: Set<string>;
  readonly questions: Set<string>;
  readonly latency: { readonly buckets: number[]; sum: number; count: number };
}

/** Seconds from the reading of a native line to its events being stored and published. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export interface MetricsOptions {
  readonly sessions: Sessions;
  readonly background: Background;
  readonly signal: AbortSignal;
  /** How many connections are open. */
  readonly clients: () => number;
}

/** Counts what is appended from now on, until the signal fires. */
export function openMetrics({ sessions, background, signal, clients }: MetricsOptions): {
  readonly metrics: Metrics;
  readonly task: RunningTask;
} {
  const counts: Counts = {
    events: 0,
    unparsed: 0,
    turnsStarted: 0,
    turnsEnded: new Map(),
    permissions: new Set(),
    questions: new Set(),
    latency: { buckets: LATENCY_BUCKETS.map(() => 0), sum: 0, count: 0 },
  };
  const work = followGroups(sessions, { signal, after: sessions.position() }, (group) => count(counts, group));
  return {
    metrics: {
      render: (list) =>
        render(counts, list, {
          clients: clients(),
          logBytes: sessions.storedBytes(),
          isFailing: sessions.storageFailure() !== null,
          host: sessions.hostStats(),
          background,
        }),
    },
    task: background.start("metrics", work, signal),
  };
}

function count(counts: Counts, group: EventGroup): void {
  // Decoded first: a group that cannot be decoded is not counted in part.
  const events = group.notable();
  counts.events += group.last - group.first + 1;
  countLatency(counts, group);
  for (const event of events) countEvent(counts, event);
}

/** By the group's first event: of those that were published together, it waited longest. */
function countLatency({ latency }: Counts, group: EventGroup): void {
  const seconds = Math.max(0, Date.now() - Date.parse(group.time())) / 1000;
  if (Number.isNaN(seconds)) return;
  latency.sum += seconds;
  latency.count += 1;
  const bucket = LATENCY_BUCKETS.findIndex((limit) => seconds <= limit);
  if (bucket !== -1) latency.buckets[bucket] = (latency.buckets[bucket] ?? 0) + 1;
}

function countEvent(counts: Counts, event: UniversalEvent): void {
  switch (event.type) {
    case "turn.started":
      counts.turnsStarted += 1;
      return;
    case "turn.ended": {
      const labels = `reason="${event.data.reason}",evidence="${event.data.evidence}"`;
      counts.turnsEnded.set(labels, (counts.turnsEnded.get(labels) ?? 0) + 1);
      return;
    }
    case "agent.unparsed":
      counts.unparsed += 1;
      return;
    case "permission.requested":
      counts.permissions.add(event.data.permission_id);
      return;
    case "permission.resolved":
      counts.permissions.delete(event.data.permission_id);
      return;
    case "question.requested":
      counts.questions.add(event.data.question_id);
      return;
    case "question.resolved":
      counts.questions.delete(event.data.question_id);
      return;
    default:
      return;
  }
}

interface Sizes {
  readonly clients: number;
  readonly logBytes: number;
  readonly isFailing: boolean;
  readonly host: ReturnType<Sessions["hostStats"]>;
  readonly background: Background;
}

async function render(counts: Counts, sessions: AsyncIterable<SessionSummary>, sizes: Sizes): Promise<string> {
  const byStatus = new Map<string, number>();
  for await (const { status, ended } of sessions) {
    const name = ended ? "ended" : status;
    byStatus.set(name, (byStatus.get(name) ?? 0) + 1);
  }
  const labelled = (entries: Iterable<[string, number]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...family("franca_sessions", "gauge", "Sessions by what they are doing.", [
      ...labelled(byStatus).map(([status, value]): Sample => [`{status="${status}"}`, value]),
    ]),
    ...family("franca_turns_started_total", "counter", "Turns that began.", [["", counts.turnsStarted]]),
    ...family("franca_turns_ended_total", "counter", "Turns that ended, by reason and evidence.", [
      ...labelled(counts.turnsEnded).map(([labels, value]): Sample => [`{${labels}}`, value]),
    ]),
    ...family("franca_events_total", "counter", "Events appended to the log.", [["", counts.events]]),
    ...family("franca_unparsed_lines_total", "counter", "Native lines that fit no known shape.", [
      ["", counts.unparsed],
    ]),
    ...family("franca_open_requests", "gauge", "Requests that wait for an answer.", [
      ['{kind="permission"}', counts.permissions.size],
      ['{kind="question"}', counts.questions.size],
    ]),
    ...family("franca_log_latency_seconds", "histogram", "From a native line to its events being readable.", []),
    ...histogram("franca_log_latency_seconds", counts.latency),
    ...family("franca_log_bytes", "gauge", "How much is stored.", [["", sizes.logBytes]]),
    ...family("franca_storage_failing", "gauge", "1 while nothing can be stored, else 0.", [
      ["", sizes.isFailing ? 1 : 0],
    ]),
    ...family("franca_clients", "gauge", "Open connections.", [["", sizes.clients]]),
    ...hostFamilies(sizes.host),
    ...backgroundFamilies(sizes.background),
    ...family("process_resident_memory_bytes", "gauge", "Resident memory.", [["", process.memoryUsage.rss()]]),
    ...family("process_uptime_seconds", "gauge", "Time since the daemon started.", [["", process.uptime()]]),
    "",
  ].join("\n");
}

function backgroundFamilies({ failing, failures }: Background): string[] {
  const counts = failures();
  const names = new Set(failing().map(({ name }) => name));
  return [
    ...family("franca_background_failing", "gauge", "1 while a background task fails and is tried again, else 0.", [
      ...taskNames.map((name): Sample => [`{task="${name}"}`, names.has(name) ? 1 : 0]),
    ]),
    ...family("franca_background_failures_total", "counter", "Errors of background tasks.", [
      ...taskNames.map((name): Sample => [`{task="${name}"}`, counts.get(name) ?? 0]),
    ]),
  ];
}

/** Of a host that shares its log with others; without samples elsewhere. */
function hostFamilies(host: Sizes["host"]): string[] {
  const one = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [["", value]]);
  const seconds = (ms: number | undefined): readonly Sample[] => one(ms === undefined ? undefined : ms / 1000);
  const { open = 0, busy = 0, waiting = 0 } = host?.connections ?? {};
  const connections: readonly Sample[] = [
    ['{state="open"}', open],
    ['{state="busy"}', busy],
    ['{state="waiting"}', waiting],
  ];
  return [
    ...family("franca_host_sessions", "gauge", "Sessions that this host has open under its lease.", [
      ...one(host?.openSessions),
    ]),
    ...family(
      "franca_host_lease_seconds",
      "gauge",
      "How long its agents may run without a renewal; 0 without a lease.",
      [...seconds(host?.leaseMs)],
    ),
    ...family("franca_host_leases_lost_total", "counter", "How often this host lost its lease.", [
      ...one(host?.leasesLost),
    ]),
    ...family("franca_host_takeovers_total", "counter", "Sessions that were taken over from other hosts.", [
      ...one(host?.takeovers),
    ]),
    ...family("franca_host_fenced_writes_total", "counter", "Writes refused because the session was another host's.", [
      ...one(host?.fencedWrites),
    ]),
    ...family("franca_notify_lag_seconds", "gauge", "How long a notification of the database takes.", [
      ...seconds(host?.notifyLagMs),
    ]),
    ...family("franca_waiting_sessions", "gauge", "Sessions of all hosts that wait for their first one.", [
      ...one(host?.waitingSessions),
    ]),
    ...family("franca_database_connections", "gauge", "Connections to the database, and work that waits for one.", [
      ...(host === null ? [] : connections),
    ]),
  ];
}

type Sample = readonly [labels: string, value: number];

function family(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  return [...head, ...samples.map(([labels, value]) => `${name}${labels} ${value}`)];
}

function histogram(name: string, { buckets, sum, count }: Counts["latency"]): string[] {
  let below = 0;
  const lines = LATENCY_BUCKETS.map((limit, index) => {
    below += buckets[index] ?? 0;
    return `${name}_bucket{le="${limit}"} ${below}`;
  });
  return [...lines, `${name}_bucket{le="+Inf"} ${count}`, `${name}_sum ${sum}`, `${name}_count ${count}`];
}

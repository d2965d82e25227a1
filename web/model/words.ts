/** Numbers and outcomes as people read them: durations, tokens, money, and how a turn ended. */
import { lookUp } from "../../src/core/look-up.ts";
import type { EndReason, Evidence, SessionStatus, Tokens, UsageTotal } from "../../src/protocol/events.ts";
import { visibleText } from "./plain.ts";

/** Every status has a shape, a word and a colour; this is what they are keyed by. */
export type Shape = "idle" | "running" | "needs" | "retrying" | "compacting" | "completed" | "failed" | "stopped";

export const shapeWords: Readonly<Record<Shape, string>> = {
  idle: "Idle",
  running: "Running",
  needs: "Needs you",
  retrying: "Retrying",
  compacting: "Compacting",
  completed: "Completed",
  failed: "Failed",
  stopped: "Stopped",
};

const statusShapes: Readonly<Record<SessionStatus, Shape>> = {
  idle: "idle",
  running: "running",
  requires_action: "needs",
  retrying: "retrying",
  compacting: "compacting",
};

export const shapeOfStatus = (status: SessionStatus): Shape => statusShapes[status];

const endShapes: Readonly<Record<EndReason, Shape>> = {
  completed: "completed",
  aborted: "stopped",
  rejected: "stopped",
  interrupted: "failed",
  error: "failed",
  length: "stopped",
  content_filter: "stopped",
  refusal: "stopped",
  max_steps: "stopped",
  budget: "stopped",
};

export const shapeOfEnd = (reason: EndReason): Shape => endShapes[reason];

const endWords: Readonly<Record<EndReason, string>> = {
  completed: "Completed",
  aborted: "Stopped",
  error: "Error",
  interrupted: "Interrupted",
  rejected: "Rejected",
  length: "Output limit",
  content_filter: "Filtered",
  refusal: "Refused",
  max_steps: "Step limit",
  budget: "Budget reached",
};

export const endWord = (reason: EndReason): string => endWords[reason];

/** How the end was detected. */
const evidenceWords: Readonly<Record<Evidence, string>> = {
  signal: "by the agent’s signal",
  exit: "by process exit",
  watchdog: "by the watchdog",
  restart: "found at the daemon’s restart",
};

export function endedBy({ reason, evidence }: { readonly reason: EndReason; readonly evidence: Evidence }): string {
  if (reason === "aborted") return evidence === "signal" ? "by you" : `by you, ${evidenceWords[evidence]}`;
  return evidenceWords[evidence];
}

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** `13 ms`, `2.4 s`, `48 s`, `1:18`, `2:03:09`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  return clock(ms);
}

/** `0:16`, `1:18`, `2:03:09`: for what is still counting. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND));
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** How long ago, in one short word: `16s`, `4m`, `3h`, then the time or the date. */
export function age(from: number, now: number): string {
  const gone = Math.max(0, now - from);
  if (gone < MINUTE) return `${Math.floor(gone / SECOND)}s`;
  if (gone < HOUR) return `${Math.floor(gone / MINUTE)}m`;
  const then = new Date(from);
  if (gone < DAY && then.getDate() === new Date(now).getDate()) return timeOfDay(from).slice(0, 5);
  return then.toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

export function timeOfDay(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** `840`, `18.2k`, `1.4M`. */
export function count(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 99_950) return `${(value / 1_000).toFixed(1)}k`;
  if (value < 999_500) return `${Math.round(value / 1_000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export const plural = (value: number, one: string, many = `${one}s`): string => `${value} ${value === 1 ? one : many}`;

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(1)} kB`;
  if (value < 1024 ** 3) return `${(value / 1024 / 1024).toFixed(1)} MB`;
  return `${(value / 1024 ** 3).toFixed(2)} GB`;
}

/** Four digits below a cent, two above: a cheap call is not free. An unknown price is a dash, never 0. */
export function money(usd: number | null): string {
  if (usd === null) return "–";
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

export const allTokens = ({ input, output, reasoning, cache_read, cache_write }: Tokens): number =>
  input + output + reasoning + cache_read + cache_write;

/** `18.2k tokens · $0.06`; what is not known is left out. */
export function usageWords({ tokens, cost_usd }: UsageTotal): string {
  const words = `${count(allTokens(tokens))} tokens`;
  return cost_usd === null ? words : `${words} · ${money(cost_usd)}`;
}

/** The last part of a path: what people call the folder. */
export const folderName = (path: string): string => path.split("/").findLast((part) => part !== "") ?? path;

/** A path below the session's folder is named from there. */
export function shortPath(path: string, directory: string | null): string {
  if (directory === null || directory === "" || !path.startsWith(`${directory}/`)) return path;
  return path.slice(directory.length + 1);
}

const agentNames: Readonly<Record<string, string>> = {
  claude: "Claude Code",
  codex: "Codex",
  "codex-exec": "Codex exec",
  opencode: "OpenCode",
  amp: "Amp",
  builtin: "Builtin",
  mock: "Mock",
};

export const agentName = (agent: string): string => lookUp(agentNames, agent) ?? visibleText(agent);

/** Routes about the daemon itself: health and metrics. */
import * as z from "zod";
import { usageCsv } from "../../core/usage-csv.ts";
import { UsageBy } from "../../protocol/requests.ts";
import type { Health } from "../../protocol/resources.ts";
import type { FailingTask } from "../../runtime/background.ts";
import type { Sessions } from "../../runtime/session/contract.ts";
import { everySession } from "../../runtime/session/every-session.ts";
import { defineRoute, json, type Route } from "../http/route.ts";
import { integer } from "./query.ts";

/** Everybody may ask: the path of the data folder is for those who have the token. */
const FAILING = "Nothing can be stored: look into the daemon's log, free some space or make the data folder writable.";
const DATABASE_FAILING =
  "Nothing can be stored: the database cannot be reached or refuses to write. The daemon's log has the reason.";
const DAMAGED =
  "The log was damaged, and what can be read was copied: `franca doctor` and the daemon's log say what is missing.";
const NONCE = /^[A-Za-z0-9_-]{16,128}$/;

const health = defineRoute({
  method: "get",
  path: "/v1/health",
  doc: {
    id: "health",
    tag: "Daemon",
    summary: "Check that the daemon answers",
    description:
      "Needs no token. `status` is `degraded` while a background task fails; the daemon tries it again. " +
      "With `nonce`, the daemon proves that it knows the token, so that a client can check whom it speaks to before " +
      "it sends anything secret. `proof` is null when the daemon runs without a token. With `login` too, it proves that " +
      "it knows the page's credential, so that a page whose daemon is gone sends nothing to whatever has its port.",
    errors: [],
    answers: "json",
    open: true,
  },
  query: z.strictObject({
    nonce: z
      .string()
      .regex(NONCE, "a nonce is 16 to 128 letters, digits, - or _")
      .optional()
      .describe("Random text of 16 to 128 letters, digits, `-` or `_`, new for each request."),
    login: z
      .string()
      .regex(NONCE, "it is 16 to 128 letters, digits, - or _")
      .optional()
      .describe("Which page credential: SHA-256 of the SHA-256 of it, each in base64url. Needs `nonce`."),
  }),
  answer: "Health",
  handle: async ({ sessions, background, version, prove, query: { nonce, login } }) => {
    const proofs = nonce === undefined ? {} : prove(nonce, login);
    return json({ ...tasksOf(background.failing()), version, ...storageOf(sessions), ...proofs });
  },
});

function tasksOf(failingTasks: readonly FailingTask[]): Pick<Health, "status" | "failingTasks"> {
  return failingTasks.length === 0 ? { status: "ok" } : { status: "degraded", failingTasks };
}

function storageOf({ storageFailure, salvaged, host }: Sessions): Pick<Health, "storage" | "storageMessage"> {
  if (storageFailure() !== null) {
    return { storage: "failing", storageMessage: host === null ? FAILING : DATABASE_FAILING };
  }
  return salvaged.length === 0 ? { storage: "ok" } : { storage: "ok", storageMessage: DAMAGED };
}

const metrics = defineRoute({
  method: "get",
  path: "/metrics",
  access: { surface: "v1", action: "read", everywhere: true },
  doc: {
    id: "metrics",
    tag: "Daemon",
    summary: "Metrics for Prometheus",
    description: "Counters of sessions, turns, events and streams, in Prometheus' text format.",
    errors: [],
    answers: "text",
  },
  handle: async ({ metrics, sessions }) => ({
    type: "text",
    text: await metrics.render(everySession(sessions)),
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  }),
});

const MOST_DAYS = 366;
/** As far as clocks differ. */
const MOST_MINUTES = 14 * 60;

const usage = defineRoute({
  method: "get",
  path: "/v1/usage",
  access: { surface: "v1", action: "read", everywhere: true },
  doc: {
    id: "usage",
    tag: "Daemon",
    summary: "Tokens and cost by day, agent, model or folder",
    description:
      "Of all sessions that are stored. Days are those of the caller's clock. A turn counts on the day on which it " +
      "began. With `format=csv` the answer is a table as text.",
    errors: [],
    answers: "json",
  },
  query: z.strictObject({
    by: UsageBy.describe("One row per day, agent, model or folder."),
    days: integer({ min: 1, max: MOST_DAYS }).default(30).describe("How many days back, today included."),
    offsetMinutes: integer({ min: -MOST_MINUTES, max: MOST_MINUTES })
      .default(0)
      .describe("How far the caller's clock is ahead of UTC."),
    format: z.enum(["json", "csv"]).default("json").describe("What the answer is written in."),
  }),
  answer: "UsageList",
  handle: async ({ sessions, query }) => {
    const { format, ...asked } = query;
    const rows = await sessions.usage(asked);
    if (format === "json") return json({ rows });
    return { type: "text", text: usageCsv(rows), contentType: "text/csv; charset=utf-8" };
  },
});

export const aboutRoutes: readonly Route[] = [health, usage, metrics];

/** The log's quota: new prompts are refused when it is reached, and running turns end with that reason. */
import { noExit } from "../agent/connection/contract.ts";
import { type OpenSession, stopAgent } from "./open-session.ts";
import type { Runtime } from "./runtime.ts";

/** The quota is checked once per this many stored groups of a session. */
const QUOTA_COMMITS = 64;

export function enforceQuota(runtime: Runtime, open: OpenSession): void {
  if (open.commits % QUOTA_COMMITS !== 0) return;
  const message = overQuota(runtime);
  if (message === null || open.session.snapshot().turn === null) return;
  runtime.logger.warn("log.quota_reached", { session: open.id });
  runtime.background.run("quota", () => stopAgent(open, { ...noExit, message, error_code: "storage_quota" }));
}

/** What to say when the quota is reached, or null. */
export function overQuota({ log, options }: Runtime): string | null {
  const { store } = options;
  if (store.kind !== "sqlite" || store.quotaBytes === undefined) return null;
  const size = log.size();
  if (size < store.quotaBytes) return null;
  return (
    `The log in ${store.folder} holds ${size} bytes and its quota is ${store.quotaBytes}: ` +
    "delete or prune sessions, or raise the quota."
  );
}

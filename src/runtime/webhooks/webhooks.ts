/**
 * All webhooks of a daemon: those of the user's config file, and those that a person added with the token, which are
 * stored in the data folder. No folder, page or agent can add one.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import {
  DEFAULT_WEBHOOK_EVENTS,
  type DeadLetter,
  type Webhook,
  type WebhookSummary,
  WebhookTable,
} from "../../protocol/webhooks.ts";
import type { Background } from "../background.ts";
import type { Logger } from "../logger.ts";
import { outboundFetch } from "../outbound/fetch.ts";
import type { Sessions } from "../session/contract.ts";
import { type Courier, openCourier } from "./courier.ts";
import { addressOf } from "./deliver.ts";

export interface WebhooksOptions {
  readonly configured: WebhookTable;
  /** Private addresses that may be sent to. */
  readonly allow: readonly string[];
  readonly sessions: Sessions;
  /** The data folder; null keeps everything in memory. */
  readonly folder: string | null;
  readonly environment: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly background: Background;
  readonly firstDelayMs?: number | undefined;
}

export interface Webhooks {
  readonly list: () => readonly WebhookSummary[];
  /** Adds one, or replaces one that a person added; what is pending for it stays. */
  readonly put: (name: string, hook: Webhook) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  readonly deadLetters: (name: string) => readonly DeadLetter[];
  readonly retry: (name: string, ids?: readonly string[]) => number;
  readonly close: () => Promise<void>;
}

interface Running {
  readonly hook: Webhook;
  readonly from: WebhookSummary["from"];
  readonly courier: Courier;
}

const MAX_WEBHOOKS = 100;

export function openWebhooks(options: WebhooksOptions): Webhooks {
  const { configured, allow, folder, environment } = options;
  const fetch = outboundFetch({ allow });
  const open = (name: string, hook: Webhook): Courier => openCourier({ ...options, name, hook, fetch });
  const store = openStore(folder);
  const running = new Map<string, Running>();
  for (const [name, hook] of Object.entries(store.read())) {
    if (!(name in configured)) running.set(name, { hook, from: "person", courier: open(name, hook) });
  }
  for (const [name, hook] of Object.entries(configured)) {
    running.set(name, { hook, from: "config", courier: open(name, hook) });
  }
  const find = (name: string): Running => {
    const known = running.get(name);
    if (known === undefined) throw new ApiError("not_found", `There is no webhook ${JSON.stringify(name)}.`);
    return known;
  };
  const own = (name: string): void => {
    if (running.get(name)?.from !== "config") return;
    throw new ApiError("invalid_request", `The webhook ${name} is set in the config file: change it there.`);
  };
  const write = (): void =>
    store.write(
      Object.fromEntries([...running].flatMap(([name, { hook, from }]) => (from === "person" ? [[name, hook]] : []))),
    );
  return {
    list: () => [...running].map(([name, one]) => summaryOf(name, one, environment)),
    async put(name, hook) {
      own(name);
      if (!running.has(name) && running.size >= MAX_WEBHOOKS) {
        throw new ApiError("invalid_request", `There are ${MAX_WEBHOOKS} webhooks already: remove one first.`);
      }
      await running.get(name)?.courier.close();
      running.set(name, { hook, from: "person", courier: open(name, hook) });
      write();
    },
    async remove(name) {
      const { courier } = find(name);
      own(name);
      running.delete(name);
      write();
      await courier.remove();
    },
    deadLetters: (name) => find(name).courier.deadLetters(),
    retry: (name, ids) => find(name).courier.retry(ids),
    async close() {
      await Promise.all([...running.values()].map(({ courier }) => courier.close()));
    },
  };
}

function summaryOf(name: string, { hook, from, courier }: Running, environment: NodeJS.ProcessEnv): WebhookSummary {
  return {
    name,
    from,
    address: shownAddress(hook, environment),
    events: hook.events ?? DEFAULT_WEBHOOK_EVENTS,
    content: hook.content ?? false,
    signed: hook.secretFile !== undefined || hook.secretVariable !== undefined,
    ...courier.counts(),
    deadLetters: courier.deadLetters().length,
  };
}

/** Paths and queries of chat services are secrets: only the origin is shown. */
function shownAddress(hook: Webhook, environment: NodeJS.ProcessEnv): string {
  try {
    return new URL(addressOf(hook, environment)).origin;
  } catch {
    return "unreadable";
  }
}

interface Store {
  readonly read: () => WebhookTable;
  readonly write: (table: WebhookTable) => void;
}

function openStore(folder: string | null): Store {
  if (folder === null) return { read: () => ({}), write: () => {} };
  const file = join(folder, "webhooks.json");
  return {
    read() {
      try {
        return WebhookTable.parse(JSON.parse(readFileSync(file, "utf8")));
      } catch {
        return {};
      }
    },
    write(table) {
      const draft = `${file}.${process.pid}`;
      writeFileSync(draft, `${JSON.stringify(table, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, file);
    },
  };
}

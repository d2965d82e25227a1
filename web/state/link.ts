/**
 * The connection to the daemon: one stream of the events of all sessions per tab (browsers allow six connections to one
 * host, and a page must leave some to its other tabs), reopened whenever it is cut. What was missed while it was cut
 * is read from the log by those who keep sequences: nothing is lost and nothing is applied twice.
 */
import { signal } from "@preact/signals";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { ApiError, type Client, connect } from "../../src/sdk/index.ts";
import { type DaemonHere, daemonHere, daemonUrl, forgetCredential } from "./login.ts";

export type Link =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  /** Since when, and when it is tried again. */
  | { readonly state: "lost"; readonly since: number; readonly retryAt: number }
  | { readonly state: "logged-out"; readonly message: string }
  /** The page shows a recording and has no daemon. */
  | { readonly state: "none" };

export const link = signal<Link>({ state: "connecting" });

const client = signal<Client | null>(null);

/** The daemon's client; only views that exist while there is a daemon call it. */
export function daemon(): Client {
  if (client.value === null) throw new Error("This page has no daemon.");
  return client.value;
}

export const hasDaemon = (): boolean => client.value !== null;

export interface Consumer {
  /** The stream is open, for the first time or again: whatever was missed can be asked for. */
  readonly opened: () => void;
  /** Events of any session, in order, at most once per frame. */
  readonly took: (events: readonly UniversalEvent[]) => void;
}

const consumers = new Set<Consumer>();

export function consume(consumer: Consumer): () => void {
  consumers.add(consumer);
  return () => void consumers.delete(consumer);
}

const STREAM_PATH = "/v1/events/sse";
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 5_000;

let stream = new AbortController();
let wake: () => void = () => {};

/** Ends the wait between two attempts. */
export const tryNow = (): void => wake();

export function open(credential: string | null): void {
  client.value = connect({ url: daemonUrl(), token: credential ?? false, fetch: watchedFetch });
  void follow(client.value);
}

/** Whether what listens is our daemon: asked whenever there is no stream that shows it. */
let proof: Promise<DaemonHere> | null = null;

const OTHER = "What answers here is not the daemon that this page logged in to, so nothing was sent to it.";

/** A daemon that is gone may have left its port to somebody else's program, which must not get our credential. */
async function checkDaemon(): Promise<void> {
  if (link.value.state === "live") return;
  proof ??= daemonHere().catch((error: unknown) => {
    proof = null;
    throw error;
  });
  const here = await proof;
  if (here === "ours") return;
  logOut(here === "other" ? OTHER : "");
  throw new ApiError("token_invalid", "This page is not logged in.");
}

/** Notices when the stream opens, and when it cannot be opened again: the wait is ours then, and is shown. */
const watchedFetch: typeof fetch = async (input, init) => {
  const isStream = String(input).includes(STREAM_PATH);
  try {
    await checkDaemon();
    const response = await fetch(input, init);
    if (isStream && response.ok) opened();
    if (isStream && response.status >= 500) stream.abort();
    return response;
  } catch (error) {
    if (isStream) stream.abort();
    throw error;
  }
};

function opened(): void {
  link.value = { state: "live" };
  for (const { opened } of consumers) opened();
}

async function follow(from: Client): Promise<void> {
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(LONGEST_DELAY_MS, delay * 2)) {
    stream = new AbortController();
    try {
      let since = performance.now();
      for await (const { event } of from.events({ signal: stream.signal })) {
        delay = FIRST_DELAY_MS;
        push(event);
        if (performance.now() - since < SLICE_MS) continue;
        await letOthersRun();
        since = performance.now();
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return logOut();
    }
    if (client.value === null) return;
    proof = null;
    if (link.value.state === "live") delay = FIRST_DELAY_MS;
    const since = link.value.state === "lost" ? link.value.since : Date.now();
    link.value = { state: "lost", since, retryAt: Date.now() + delay };
    await pause(delay);
  }
}

function logOut(message = ""): void {
  if (client.value === null) return;
  forgetCredential();
  client.value = null;
  link.value = { state: "logged-out", message };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** Reading and applying events takes no longer than this at a time: a key that is pressed meanwhile comes next. */
const SLICE_MS = 6;
const channel = new MessageChannel();
const resumes: (() => void)[] = [];
channel.port1.onmessage = () => resumes.shift()?.();

function letOthersRun(): Promise<void> {
  return new Promise((resolve) => {
    resumes.push(resolve);
    channel.port2.postMessage(null);
  });
}

let waiting: UniversalEvent[] = [];
let isScheduled = false;

/** Once per frame, however many come: a page that draws every delta of a flood does nothing else. */
function push(event: UniversalEvent): void {
  waiting.push(event);
  if (!isScheduled) schedule();
}

let timer: ReturnType<typeof setTimeout> | undefined;
let frame = 0;

function schedule(): void {
  isScheduled = true;
  const atFrame = (): void => {
    frame = requestAnimationFrame(flush);
  };
  if (document.hidden) timer = setTimeout(flush, HIDDEN_MS);
  else if (restMs < FRAME_MS) atFrame();
  else timer = setTimeout(atFrame, restMs);
}

// A frame that was asked for does not come once the page is hidden.
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  cancelAnimationFrame(frame);
  if (waiting.length > 0) schedule();
});

/** Frames do not come while nobody looks, but the number in the title is still wanted. */
const HIDDEN_MS = 250;
const FRAME_MS = 16;
const LONGEST_REST_MS = 100;
/** Drawing takes half of the time at most: the rest belongs to typing and scrolling. */
const REST = 1;
/** So many events are applied between two looks at the clock. */
const PORTION = 500;
let restMs = 0;

function flush(): void {
  const startedAt = performance.now();
  let applied = 0;
  while (applied < waiting.length && (applied === 0 || performance.now() - startedAt < SLICE_MS)) {
    const events = waiting.slice(applied, applied + PORTION);
    for (const { took } of consumers) took(events);
    applied += events.length;
  }
  waiting = waiting.slice(applied);
  // After what follows from it was drawn.
  setTimeout(() => {
    restMs = Math.min(LONGEST_REST_MS, (performance.now() - startedAt) * REST);
    isScheduled = false;
    if (waiting.length > 0) schedule();
  });
}

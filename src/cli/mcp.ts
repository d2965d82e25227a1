/**
 * `franca mcp`: Franca as an MCP server on standard input and output. The work is done by the daemon, at `/v1/mcp`;
 * this carries messages to it and its answers back.
 */
import { resolve } from "node:path";
import type { Command } from "commander";
import { splitLines } from "../runtime/agent/lines.ts";
import type { FetchAnswer } from "../sdk/fetch.ts";
import { openHttp } from "../sdk/http.ts";
import { readServerSentEvents } from "../sdk/sse.ts";
import { loadSettings } from "./config.ts";
import { addDoorOptions, daemonAddress, refuseInsideSession } from "./door.ts";
import { CommandError, UsageError } from "./usage.ts";

/** Given by the daemon to the MCP server of a session's agent. */
export const CREDENTIAL_VARIABLE = "FRANCA_SESSION_CREDENTIAL";
export const ENDPOINT_VARIABLE = "FRANCA_SESSION_ENDPOINT";

const INTERNAL_ERROR = -32603;

interface Flags {
  readonly full?: true;
  readonly dir?: string;
}

export function define(command: Command): void {
  addDoorOptions(command)
    .option("--full", "all sessions, and answers to their requests: for a client that you trust like yourself")
    .option("-d, --dir <folder>", "the folder that new sessions work in", ".")
    .addHelpText(
      "after",
      `
Tools: agents, ask, sessions, read, abort; with --full also answer. docs/mcp.md has more.

Examples:
  $ claude mcp add franca -- franca mcp
  $ franca run -a claude --delegate "Let codex review your change"`,
    )
    .action((flags: Flags) => mcp(flags));
}

/** Sends one message; gives its answers as they come. */
type Send = (message: unknown, signal: AbortSignal) => Promise<Answers>;

interface Answers {
  readonly scope: string | null;
  readonly messages: AsyncIterable<unknown>;
}

async function mcp(flags: Flags): Promise<void> {
  const send = await senderFor(flags);
  const stopped = new AbortController();
  const underway = new Set<Promise<void>>();
  const write = (message: unknown): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
  let last: Promise<void> = Promise.resolve();
  const carry = (text: string): void => {
    if (text.trim() === "") return;
    const message = parsed(text);
    if (message === null) return write({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Not JSON." } });
    // The answer to the first message names the scope of all that follow, so that one is waited for.
    const isFirst = "method" in message && message.method === "initialize";
    const work = last.then(() => relay({ send, message, write, signal: stopped.signal }));
    if (isFirst) last = work;
    underway.add(work);
    work.catch(() => {}).finally(() => underway.delete(work));
  };
  const splitter = splitLines({
    onLine: carry,
    onOverlong: () => void process.stderr.write("franca: a line was too long and was dropped\n"),
  });
  await new Promise<void>((done) => {
    process.stdin.on("data", (chunk: Buffer) => splitter.push(chunk));
    for (const event of ["end", "error"]) process.stdin.once(event, () => done());
    process.stdout.once("error", () => done());
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => done());
  });
  splitter.end();
  // The client is gone: what it asked for is cancelled.
  stopped.abort();
  await Promise.allSettled(underway);
  process.stdin.destroy();
}

function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

interface Relaying {
  readonly send: Send;
  readonly message: object;
  readonly write: (message: unknown) => void;
  readonly signal: AbortSignal;
}

async function relay({ send, message, write, signal }: Relaying): Promise<void> {
  try {
    for await (const answer of (await send(message, signal)).messages) write(answer);
  } catch (error) {
    if (signal.aborted) return;
    const text = error instanceof Error ? error.message : String(error);
    if ("id" in message && "method" in message) {
      write({ jsonrpc: "2.0", id: message.id, error: { code: INTERNAL_ERROR, message: text } });
    } else process.stderr.write(`franca: ${text}\n`);
  }
}

async function senderFor(flags: Flags): Promise<Send> {
  const { [CREDENTIAL_VARIABLE]: credential, [ENDPOINT_VARIABLE]: endpoint } = process.env;
  if (credential !== undefined && endpoint !== undefined) {
    if (flags.full === true) throw new UsageError("--full is for a person: this was started inside an agent session.");
    return ofSession({ credential, endpoint });
  }
  refuseInsideSession(process.env);
  return ofPerson(flags);
}

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** The daemon that made the credential is the only one that takes it. */
function ofSession({ credential, endpoint }: { credential: string; endpoint: string }): Send {
  return async (message, signal) => {
    const headers = { ...HEADERS, authorization: `Bearer ${credential}` };
    const response = await fetch(endpoint, { method: "POST", headers, body: JSON.stringify(message), signal });
    if (!response.ok) throw new CommandError(`The daemon refused: ${response.status} ${await response.text()}`);
    return answersIn(response);
  };
}

async function ofPerson(flags: Flags): Promise<Send> {
  const given = { flags: { ...flags }, env: process.env };
  const url = await daemonAddress(given);
  if (url === null) throw new CommandError("No daemon runs on this data folder. Start one with: franca daemon start");
  const { token, data } = await loadSettings(given);
  const http = openHttp({ url, data, ...(token === null ? {} : { token }) });
  const directory = resolve(flags.dir ?? ".");
  let scope: string | null = null;
  return async (message, signal) => {
    const response = await http.request("/v1/mcp", {
      method: "POST",
      query: { full: flags.full === true ? true : undefined, directory },
      headers: { accept: HEADERS.accept, "mcp-session-id": scope ?? undefined },
      body: message,
      signal,
    });
    const answers = answersIn(response);
    scope ??= answers.scope;
    return answers;
  };
}

type Answered = Pick<FetchAnswer, "status" | "headers" | "body" | "text">;

function answersIn(response: Answered): Answers {
  return { scope: response.headers.get("mcp-session-id"), messages: messagesOf(response) };
}

async function* messagesOf(response: Answered): AsyncGenerator<unknown> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isStream || response.body === null) {
    const text = await response.text();
    if (text !== "") yield JSON.parse(text);
    return;
  }
  for await (const batch of readServerSentEvents(response.body)) {
    for (const { data } of batch) if (data !== null) yield JSON.parse(data);
  }
}

/** Every method of both versions of OpenCode's SDK, called in one fixed way: which operation it is, and its answer. */
import { createOpencodeClient as createFirst } from "@opencode-ai/sdk";
import { createOpencodeClient as createSecond } from "@opencode-ai/sdk/v2";
import { isShape } from "../../src/dialects/shape.ts";
import { operations } from "../../src/server/opencode/operations.ts";

export interface Called {
  readonly version: "v1" | "v2";
  readonly method: string;
  /** `GET /session/{sessionID}`; null when nothing was sent. */
  readonly operation: string | null;
  /** 0 when there was no answer in time. */
  readonly status: number;
  /** Of what was answered: the kind of value, and the names of its fields. */
  readonly shape: string;
}

export interface Target {
  readonly baseUrl: string;
  readonly directory: string;
  /** A session in which something was said, and its first message. */
  readonly session: string;
  readonly message: string;
  readonly model: { readonly providerID: string; readonly modelID: string };
}

/** Never called: it would replace the program that others use. */
const skipped = /upgrade$/i;
/** Called after all others: they end or change what the others use. */
const isLast = (name: string): boolean => /dispose|sync|warp|moveSession|share|abort|delete|remove/i.test(name);
/** These answer when something happens, which it does not. */
const isPoll = (name: string): boolean => /control\.next/i.test(name);
const PATIENCE_MS = 60_000;
const POLL_MS = 2_000;
/** How long is waited for the beginning of a stream. */
const STREAM_MS = 5_000;

export async function callAll(target: Target): Promise<readonly Called[]> {
  const original = globalThis.fetch;
  try {
    return await callEach(target, original);
  } finally {
    globalThis.fetch = original;
  }
}

async function callEach(target: Target, original: typeof fetch): Promise<readonly Called[]> {
  const called: Called[] = [];
  for (const version of ["v1", "v2"] as const) {
    let last: Seen | null = null;
    let patience = PATIENCE_MS;
    const watching = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init);
      const given = AbortSignal.any([request.signal, AbortSignal.timeout(patience)]);
      const operation = operationOf(request);
      last = { operation, status: 0, shape: "" };
      const response = await original(request, { signal: given });
      last = { operation, status: response.status, shape: "stream" };
      // A stream has answered when it has begun.
      const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
      if (isStream) return new Response("", { status: response.status, headers: response.headers });
      last = { operation, status: response.status, shape: shapeOf(await response.clone().text()) };
      return response;
    };
    // The streams of version 1 take no other `fetch`; what the daemon asks elsewhere is left alone.
    globalThis.fetch = async (input, init) => {
      const isOurs = new Request(input, init).url.startsWith(target.baseUrl);
      return isOurs ? watching(input, init) : original(input, init);
    };
    const options = { baseUrl: target.baseUrl, directory: target.directory, fetch: watching };
    const client: unknown = version === "v1" ? createFirst(options) : createSecond(options);
    const methods = methodsOf(client).filter(([name]) => !skipped.test(name));
    const ordered = [...methods.filter(([name]) => !isLast(name)), ...methods.filter(([name]) => isLast(name))];
    for (const [name, call] of ordered) {
      last = null;
      patience = isPoll(name) ? POLL_MS : PATIENCE_MS;
      const given = argumentsFor(version, target, name);
      // Requests that take no body are not sent with one, and methods that take nothing not with anything.
      for (const asked of [given, { ...given, body: undefined }, undefined]) {
        if (seenIn(last) === null) await begun(await call(asked).catch(() => undefined));
      }
      const seen = seenIn(last);
      const { operation = null, status = 0, shape = "" } = seen ?? {};
      called.push({ version, method: name, operation, status, shape });
    }
  }
  return called;
}

/** A stream is asked for when it is first read. */
async function begun(result: unknown): Promise<void> {
  const stream: unknown = isShape(result) ? result.stream : undefined;
  if (!isStream(stream)) return;
  const reader = stream[Symbol.asyncIterator]();
  await Promise.race([reader.next(), new Promise((resolve) => setTimeout(resolve, STREAM_MS).unref())]).catch(
    () => null,
  );
  void reader.return?.().catch(() => undefined);
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** The compiler does not see that calls assign it. */
const seenIn = (last: unknown): Seen | null =>
  isShape(last) ? { operation: String(last.operation), status: Number(last.status), shape: String(last.shape) } : null;

interface Seen {
  readonly operation: string;
  readonly status: number;
  readonly shape: string;
}

/** The first of a list stands for all of it; an empty list is like any other. */
function shapeOf(text: string): string {
  if (text === "") return "nothing";
  try {
    return shapeOfValue(JSON.parse(text));
  } catch {
    return "text";
  }
}

function shapeOfValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "list" : `list of ${shapeOfValue(value[0])}`;
  if (!isShape(value)) return value === null ? "null" : typeof value;
  const names = Object.keys(value).sort();
  return `{${names.join(", ")}}`;
}

type Call = (given: unknown) => Promise<unknown>;

function methodsOf(client: unknown, prefix = "", seen = new Set<unknown>()): [string, Call][] {
  if (typeof client !== "object" || client === null || seen.has(client)) return [];
  seen.add(client);
  const found: [string, Call][] = [];
  const names = new Set<string>();
  for (let at: unknown = client; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  for (const name of names) {
    if (name.startsWith("_") || name === "constructor" || name === "client") continue;
    const value: unknown = Reflect.get(client, name);
    if (typeof value === "function") {
      found.push([`${prefix}${name}`, async (given) => Reflect.apply(value, client, [given])]);
    } else found.push(...methodsOf(value, `${prefix}${name}.`, seen));
  }
  return found.filter(([name]) => !/postSessionIdPermissionsPermissionId$/.test(name) || prefix === "");
}

function argumentsFor(version: "v1" | "v2", target: Target, name: string): object {
  const { session, message, model, directory } = target;
  // What is deleted or ended must not be what the others use.
  const isDestructive = /delete|remove|abort|revert|interrupt/i.test(name);
  const sessionID = isDestructive ? "ses_0000000000000000000000000a" : session;
  const path = {
    id: sessionID,
    sessionID,
    messageID: message,
    partID: "prt_0000000000000000000000000a",
    permissionID: "per_0000000000000000000000000a",
    requestID: "per_0000000000000000000000000a",
    providerID: "lab",
    projectID: "project",
    ptyID: "pty_0000000000000000000000000a",
    integrationID: "lab",
    attemptID: "attempt",
    credentialID: "credential",
    name: "none",
  };
  const query = {
    directory,
    path: "README.md",
    query: "READ",
    pattern: "Demo",
    provider: "lab",
    model: "scripted",
    mode: "git",
  };
  const body = {
    title: "A title",
    text: "hi",
    parts: [{ type: "text", text: "echo hi" }],
    prompt: { text: "echo hi" },
    model: version === "v2" && /^(session\.(create|switch)|v2\.)/.test(name) ? { ...model, id: model.modelID } : model,
    ...model,
    command: "init",
    arguments: "",
    agent: "build",
    reply: "once",
    response: "once",
    answers: [["a"]],
    message: "m",
    ...(name.startsWith("tui.") ? { variant: "info" } : {}),
    service: "test",
    level: "info",
  };
  return version === "v1" ? { path, query, body } : { ...path, ...query, ...body, messageID: message };
}

function operationOf({ method, url }: Request): string {
  const { pathname } = new URL(url);
  const path = pathname.replace(/^\/opencode/, "");
  const fits = (operation: string): boolean => {
    const [wanted = "", template = ""] = operation.split(" ");
    const pattern = template.replaceAll(/\{\w+\}/g, "[^/]+").replace("*", ".+");
    return wanted === method && new RegExp(`^${pattern}$`).test(path);
  };
  const matching = operations.filter(fits);
  // The literal path before one with parameters.
  return matching.find((operation) => !operation.includes("{")) ?? matching[0] ?? `${method} ${path}`;
}

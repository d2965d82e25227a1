/**
 * Finds what answers a request, by method and path. Routes are tried in the order they were added; a segment of a path
 * is a word, `:name`, `:name{pattern}`, or at the end `*`, which stands for any rest or none.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "../../protocol/errors.ts";
import type { Access, Caller } from "../credentials/access.ts";
import type { Reply } from "./reply.ts";
import { decoded } from "./request.ts";

/** One request on its way to its route. */
export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly method: string;
  /** Without the query; what is encoded in it stays so where it could be mistaken for a `/`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The route's own path; null as long as none was found. */
  readonly route: string | null;
  readonly params: Readonly<Record<string, string>>;
}

/** A request whose sender is known and may use its route. */
export interface AdmittedExchange extends Exchange {
  readonly caller: Caller;
}

export type Handler = (exchange: AdmittedExchange) => Reply | Promise<Reply>;

export interface Router {
  /** A null method is any. Without `access` the route is for the owner alone. */
  readonly add: (method: string | null, path: string, handler: Handler, access?: Access) => void;
  readonly find: (method: string, path: string) => Found | null;
}

export interface Found {
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly handler: Handler;
  readonly access: Access;
}

interface Segment {
  /** What the segment must be; null where it is a parameter. */
  readonly word: string | null;
  readonly name: string;
  readonly pattern: RegExp | null;
}

interface Entry {
  readonly order: number;
  readonly method: string | null;
  readonly path: string;
  readonly segments: readonly Segment[];
  /** Ends in `*`. */
  readonly isOpen: boolean;
  readonly handler: Handler;
  readonly access: Access;
}

export function createRouter(): Router {
  /** By the number of segments and the first of them, which is never a parameter. */
  const closed = new Map<string, Entry[]>();
  const open: Entry[] = [];
  let count = 0;
  return {
    add(method, path, handler, access = "owner") {
      count += 1;
      const parts = path.split("/").slice(1);
      const isOpen = parts.at(-1) === "*";
      const segments = (isOpen ? parts.slice(0, -1) : parts).map(segmentOf);
      const entry = { order: count, method, path, segments, isOpen, handler, access };
      if (isOpen) open.push(entry);
      else entriesAt(closed, keyOf(parts)).push(entry);
    },
    find(method, path) {
      const parts = path.split("/").slice(1);
      // What a GET answers is answered to a HEAD, without its body.
      const asked = method === "HEAD" ? "GET" : method;
      const exact = (closed.get(keyOf(parts)) ?? []).find((entry) => fits(entry, asked, parts));
      const wide = open.find((entry) => fits(entry, asked, parts));
      const entry = exact !== undefined && (wide === undefined || exact.order < wide.order) ? exact : wide;
      if (entry === undefined) return null;
      const { path: route, handler, access } = entry;
      return { route, params: paramsOf(entry, parts), handler, access };
    },
  };
}

const keyOf = (parts: readonly string[]): string => `${parts.length} ${parts[0] ?? ""}`;

function entriesAt(table: Map<string, Entry[]>, key: string): Entry[] {
  const there = table.get(key);
  if (there !== undefined) return there;
  const entries: Entry[] = [];
  table.set(key, entries);
  return entries;
}

function segmentOf(part: string): Segment {
  const [, name, pattern] = /^:(\w+)(?:\{(.+)\})?$/.exec(part) ?? [];
  if (name === undefined) return { word: part, name: "", pattern: null };
  return { word: null, name, pattern: pattern === undefined ? null : new RegExp(`^${pattern}$`) };
}

function fits({ method, segments, isOpen }: Entry, asked: string, parts: readonly string[]): boolean {
  if (method !== null && method !== asked) return false;
  if (isOpen ? parts.length < segments.length : parts.length !== segments.length) return false;
  return segments.every(({ word, pattern }, at) => {
    const part = parts[at] ?? "";
    if (word !== null) return part === word;
    return part !== "" && (pattern === null || pattern.test(part));
  });
}

function paramsOf({ segments }: Entry, parts: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [at, { word, name }] of segments.entries()) {
    if (word === null) params[name] = decoded(parts[at] ?? "");
  }
  return params;
}

/** Path and query of a request's target, which may also be a whole URL. */
export function targetOf(url: string): Pick<Exchange, "path" | "query"> {
  const whole = url.startsWith("/") ? `http://localhost${url}` : url;
  if (!URL.canParse(whole)) throw new ApiError("invalid_request", "The request's target is not a path.");
  const { pathname, searchParams } = new URL(whole);
  return { path: pathname.includes("%") ? readable(pathname) : pathname, query: firstOfEach(searchParams) };
}

/** `%2F` and the like stay as they are, and so does `%25`: what is decoded once more must not become another path. */
function readable(pathname: string): string {
  try {
    return decodeURI(pathname.replaceAll("%25", "%2525"));
  } catch {
    return pathname;
  }
}

function firstOfEach(query: URLSearchParams): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of query) if (!values.has(name)) values.set(name, value);
  return Object.fromEntries(values);
}

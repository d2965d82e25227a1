/**
 * Replaces values we hold (our token, session variables, what MCP servers are given, key-like variables of our
 * environment, credentials in addresses) before anything is stored or logged. What an agent prints in pieces or
 * re-encoded cannot be recognised.
 */
import type { McpServer } from "../core/launch.ts";
import { hideInUrls, secretsIn } from "./url-secrets.ts";

export const REDACTED = "[redacted]";

/** Shorter values occur in ordinary text by chance: replacing them would damage it and hide nothing. */
const SHORTEST = 8;
const KEY_LIKE = /(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|PRIVATE)(_|$)/i;

/** Names of variables that hold no secret: replacing a model's name in every event would help nobody. */
const PLAIN_NAME =
  /(^|_)(MODEL|MODE|ENV|LEVEL|REGION|PROFILE|HOST|PORT|USER|NAME|VERSION|LANG|DIR|PATH|HOME|TERM|COMMAND)$/i;

export const isKeyLike = (name: string): boolean => KEY_LIKE.test(name);

export interface Redactor {
  /** Whether a text has anything to redact in it. */
  readonly touches: (text: string) => boolean;
  /** Plain text: stderr, messages. Of addresses, also credentials that we do not hold are replaced. */
  readonly text: (text: string) => string;
  /** One native line, as text and as the parsed value, both redacted. */
  readonly line: (line: NativeText) => NativeText;
  /** A parsed value; the same value when there is nothing to redact. */
  readonly value: (value: unknown) => unknown;
}

export interface NativeText {
  readonly text: string;
  readonly value: unknown;
}

export interface Held {
  readonly token?: string | null;
  readonly sessionEnv?: Readonly<Record<string, string>>;
  readonly mcp?: Readonly<Record<string, McpServer>>;
  /** `process.env`: only key-like variables count, and credentials in addresses. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export function openRedactor(held: Held): Redactor {
  const needles = needlesOf(held);
  const touches = (text: string): boolean => needles.some((needle) => text.includes(needle));

  const clean = (text: string): string => {
    let out = text;
    for (const needle of needles) if (out.includes(needle)) out = out.replaceAll(needle, REDACTED);
    return out;
  };
  const cleanDeep = (value: unknown): unknown => {
    if (typeof value === "string") return clean(value);
    if (Array.isArray(value)) return value.map(cleanDeep);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), cleanDeep(inner)]));
  };

  return {
    touches,
    text: (text) => hideInUrls(clean(text), REDACTED),
    value: (value) => (needles.length > 0 && touches(JSON.stringify(value) ?? "") ? cleanDeep(value) : value),
    line(line) {
      if (needles.length === 0 || !touches(line.text)) return line;
      // On the value, not the text: a needle made of digits would leave a number that is no JSON.
      const value = cleanDeep(line.value);
      return { text: JSON.stringify(value), value };
    },
  };
}

export interface ChangingOptions<Extra> {
  /** What is held beside the rest at this moment: the same object until it changes. */
  readonly extra: () => Extra;
  readonly open: (extra: Extra) => Redactor;
}

/** A redactor of values that others may join later. */
export function openChangingRedactor<Extra>({ extra, open }: ChangingOptions<Extra>): Redactor {
  let known = extra();
  let redactor = open(known);
  const current = (): Redactor => {
    const now = extra();
    if (now !== known) {
      known = now;
      redactor = open(now);
    }
    return redactor;
  };
  return {
    touches: (text) => current().touches(text),
    text: (text) => current().text(text),
    line: (line) => current().line(line),
    value: (value) => current().value(value),
  };
}

function needlesOf({ token, sessionEnv = {}, mcp = {}, environment = {} }: Held): string[] {
  const values = new Set<string>();
  if (token !== undefined && token !== null && token !== "") values.add(token);
  const given = [sessionEnv, ...Object.values(mcp).map(({ env = {} }) => env)];
  for (const [name, value] of given.flatMap(Object.entries<string>)) if (isSecret(name, value)) values.add(value);
  for (const [name, value = ""] of Object.entries(environment)) {
    if (value.length >= SHORTEST && KEY_LIKE.test(name) && !isPlace(value)) values.add(value);
  }
  const headers = Object.values(mcp).flatMap((server) => Object.values(server.headers ?? {}).flatMap(wordsOf));
  const addresses = Object.values(mcp).flatMap(({ url = "", args = [] }) => [url, ...args]);
  const held = [...addresses, ...given.flatMap(Object.values<string>), ...Object.values(environment)];
  for (const secret of [...headers, ...held.flatMap((value) => secretsIn(value ?? ""))]) {
    if (secret.length >= SHORTEST) values.add(secret);
  }
  const needles = new Set<string>();
  for (const value of values) {
    needles.add(value);
    // Escaped as inside a JSON string.
    needles.add(JSON.stringify(value).slice(1, -1));
  }
  // The longest first, so that a value which contains another one is replaced whole.
  return [...needles].sort((a, b) => b.length - a.length);
}

/** `Bearer abc` is secret as a whole, and so is `abc`; the scheme's name is not. */
const wordsOf = (header: string): string[] => [header, ...(/^\S+\s+(\S.*)$/.exec(header)?.slice(1) ?? [])];

/** A session's variable counts as a secret, unless its name is harmless and its value a path, a word or a number. */
function isSecret(name: string, value: string): boolean {
  if (value.length < SHORTEST) return false;
  return KEY_LIKE.test(name) || !(PLAIN_NAME.test(name) || isPlace(value) || /^([a-z]+|[\d.]+)$/.test(value));
}

function isPlace(value: string): boolean {
  if (value.startsWith("/")) return true;
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return /^(https?|unix|file):$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "";
}

/**
 * Values of a session's settings that a log which several hosts share does not store: they are taken out before the
 * settings are written, and put back by the host that runs the session, from its own files or its own environment.
 */
import type { CreateSession } from "../../protocol/resources.ts";
import { isKeyLike } from "../redact.ts";
import { secretsIn } from "../url-secrets.ts";
import type { SessionSettings, Withheld } from "./contract.ts";

export type Values = Readonly<Record<string, string>>;

/** How a place is named among the values of a session. */
export const nameOf = ({ at }: Withheld): string => JSON.stringify(at);

export interface WithheldSettings {
  /** With empty texts in place of the values. */
  readonly stored: SessionSettings;
  readonly values: Values;
}

/** What was missing before stays withheld, although it has no value. */
export function withhold({ missing: _, ...settings }: SessionSettings): WithheldSettings {
  const known = new Set((settings.withheld ?? []).map(nameOf));
  const withheld: Withheld[] = [];
  const values: Record<string, string> = {};
  const create = mapPlaces(settings.create, ({ place, value, isSecret }) => {
    const isKnown = known.has(nameOf(place));
    if (!isSecret && !isKnown) return value;
    withheld.push(place);
    if (value !== "") values[nameOf(place)] = value;
    return "";
  });
  const { withheld: _known, ...rest } = settings;
  return { stored: { ...rest, create, ...(withheld.length === 0 ? {} : { withheld }) }, values };
}

/** With the values that this host has; the names of the others are in `missing`. */
export function restore(settings: SessionSettings, values: Values = {}): SessionSettings {
  const { withheld = [], missing: _, ...rest } = settings;
  if (withheld.length === 0) return { ...rest };
  const places = new Set(withheld.map(nameOf));
  const missing = new Set<string>();
  const create = mapPlaces(settings.create, ({ place, value }) => {
    if (value !== "" || !places.has(nameOf(place))) return value;
    const found = values[nameOf(place)] ?? process.env[place.variable] ?? "";
    if (found === "") missing.add(place.variable);
    return found;
  });
  return { ...rest, withheld, create, ...(missing.size === 0 ? {} : { missing: [...missing] }) };
}

/** Stored settings as a shared log would have them: the same text for both sides of a copy. */
export function withoutSecrets(text: string): { readonly text: string; readonly values: Values } {
  const settings: SessionSettings = JSON.parse(text);
  const { stored, values } = withhold(settings);
  return { text: stored.withheld === undefined ? text : JSON.stringify(stored), values };
}

/** The variables whose values would not be stored. */
export const secretVariables = (create: CreateSession): readonly string[] => [
  ...new Set((withhold({ create, forkOf: null }).stored.withheld ?? []).map(({ variable }) => variable)),
];

interface Visited {
  readonly place: Withheld;
  readonly value: string;
  readonly isSecret: boolean;
}

type Visit = (visited: Visited) => string;
type Server = NonNullable<CreateSession["mcp"]>[string];

/** Each value that may be secret, replaced by what `visit` returns. */
function mapPlaces(create: CreateSession, visit: Visit): CreateSession {
  const { env, mcp } = create;
  return {
    ...create,
    ...(env === undefined ? {} : { env: mapVariables(env, ["env"], visit) }),
    ...(mcp === undefined ? {} : { mcp: mapValues(mcp, (server, name) => mapServer(server, name, visit)) }),
  };
}

function mapServer(server: Server, name: string, visit: Visit): Server {
  const at = ["mcp", name];
  const variable = (...words: readonly string[]): string =>
    ["FRANCA_MCP", name, ...words]
      .join("_")
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_");
  if ("url" in server) {
    const { url, headers } = server;
    const place = { at: [...at, "url"], variable: variable("url") };
    const header = (value: string, key: string): string =>
      visit({ place: { at: [...at, "headers", key], variable: variable(key) }, value, isSecret: value !== "" });
    return {
      ...server,
      url: visit({ place, value: url, isSecret: secretsIn(url).length > 0 }),
      ...(headers === undefined ? {} : { headers: mapValues(headers, header) }),
    };
  }
  const { args, env } = server;
  const argument = (value: string, index: number): string => {
    const place = { at: [...at, "args", String(index)], variable: variable("arg", String(index + 1)) };
    return visit({ place, value, isSecret: isSecretArgument(value, args?.[index - 1] ?? "") });
  };
  return {
    ...server,
    ...(args === undefined ? {} : { args: args.map(argument) }),
    ...(env === undefined ? {} : { env: mapVariables(env, [...at, "env"], visit) }),
  };
}

const mapVariables = (env: Values, at: readonly string[], visit: Visit): Record<string, string> =>
  mapValues(env, (value, name) =>
    visit({ place: { at: [...at, name], variable: name }, value, isSecret: !isSwitch(name, value) }),
  );

const mapValues = <T>(record: Readonly<Record<string, T>>, map: (value: T, name: string) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));

const OTHER_SECRET_NAME = /(^|_)(PIN|PASS|PW|PWD|CODE)(_|$)/i;
const SWITCH = /^(|true|false|yes|no|on|off|\d{1,4})$/i;

/** The only values of variables that are no secret for certain. */
const isSwitch = (name: string, value: string): boolean =>
  value === "" || (SWITCH.test(value) && !isKeyLike(name) && !OTHER_SECRET_NAME.test(name));

const flagName = (argument: string): string => (/^--?([\w-]+)/.exec(argument)?.[1] ?? "").replaceAll("-", "_");

/** An address with credentials, `--token=…`, or what follows `--token`. */
function isSecretArgument(value: string, before: string): boolean {
  if (secretsIn(value).length > 0) return true;
  if (/^--?[\w-]+=./.test(value)) return isKeyLike(flagName(value));
  return value !== "" && !value.startsWith("-") && /^--?[\w-]+$/.test(before) && isKeyLike(flagName(before));
}

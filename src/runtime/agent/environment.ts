/**
 * The environment a child process gets: what every program needs, what its adapter names, the session's own, and
 * nothing else of ours. No agent gets the keys of another.
 */
import { programPath } from "../program-path.ts";

const NAMES: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
]);

const PREFIXES: readonly string[] = ["LC_", "XDG_"];

/** By this variable a process that left its group is known as ours: one value for every process tree we start. */
export const RUN_VARIABLE = "FRANCA_RUN_ID";
export const SESSION_VARIABLE = "FRANCA_SESSION_ID";

export interface EnvironmentOptions {
  /** What we run in: `process.env`. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
  /** Names passed on to every agent (`--pass-env`). */
  readonly pass: readonly string[];
  /** Whether a variable is the agent's own; none is for what is no agent. */
  readonly owns?: (name: string) => boolean;
  /** What the agent's launch asks for, then what the session was created with: the session wins. */
  readonly launch: Readonly<Record<string, string>>;
  readonly session: Readonly<Record<string, string>>;
  readonly sessionId: string;
  readonly runId: string;
}

export function childEnvironment(options: EnvironmentOptions): Record<string, string> {
  return {
    ...passedOn(options),
    ...options.launch,
    ...options.session,
    [SESSION_VARIABLE]: options.sessionId,
    [RUN_VARIABLE]: options.runId,
  };
}

/** What a child process gets of our own environment. */
export function passedOn({
  inherited,
  pass,
  owns = () => false,
}: Pick<EnvironmentOptions, "inherited" | "pass" | "owns">): Record<string, string> {
  const passed = new Set(pass);
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && (passed.has(name) || isCommon(name) || owns(name))) environment[name] = value;
  }
  if (environment.PATH !== undefined) environment.PATH = programPath(environment.PATH);
  return environment;
}

/** Proxy variables are spelt in lower case as often as in upper case. */
function isCommon(name: string): boolean {
  const upper = name.toUpperCase();
  return NAMES.has(name) || (upper.endsWith("_PROXY") && NAMES.has(upper)) || PREFIXES.some((p) => name.startsWith(p));
}

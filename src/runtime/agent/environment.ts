/** The environment a child process gets: a list of what agents need, the session's own, and nothing else of ours. */

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
  "IS_SANDBOX",
]);

const PREFIXES: readonly string[] = [
  "LC_",
  "XDG_",
  "ANTHROPIC_",
  "CLAUDE_",
  "DISABLE_",
  "OPENAI_",
  "CODEX_",
  "OPENCODE_",
  "AMP_",
];

/** By this variable a process that left its group is known as ours: one value for every process tree we start. */
export const RUN_VARIABLE = "FRANCA_RUN_ID";
export const SESSION_VARIABLE = "FRANCA_SESSION_ID";

export interface EnvironmentOptions {
  /** What we run in: `process.env`. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
  /** Names passed on besides the list (`--pass-env`). */
  readonly pass: readonly string[];
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

/** What every child process of ours gets of our own environment. */
export function passedOn({ inherited, pass }: Pick<EnvironmentOptions, "inherited" | "pass">): Record<string, string> {
  const passed = new Set(pass);
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && (passed.has(name) || isAllowed(name))) environment[name] = value;
  }
  return environment;
}

/** Proxy variables are spelt in lower case as often as in upper case. */
function isAllowed(name: string): boolean {
  const upper = name.toUpperCase();
  return NAMES.has(name) || (upper.endsWith("_PROXY") && NAMES.has(upper)) || PREFIXES.some((p) => name.startsWith(p));
}

/** Makes a recording fit to be shared: no keys, no names of this machine, no places that exist only here. */
import { homedir, tmpdir, userInfo } from "node:os";

export interface RedactionOptions {
  /** Where the agent worked: `/workspace` in the recording. */
  readonly directory: string;
  /** Values that are secret whatever they look like. */
  readonly secrets: readonly string[];
}

type Rule = readonly [pattern: RegExp, replacement: string];

/** Things that look like secrets, by their published forms. */
const secretRules: readonly Rule[] = [
  [/\bsk-[A-Za-z0-9_-]{12,}/g, "sk-redacted"],
  [/\b(gh[pousr]|github_pat)_[A-Za-z0-9_]{16,}/g, "gh-redacted"],
  [/\b(AKIA|ASIA)[A-Z0-9]{16}\b/g, "AKIAREDACTED"],
  [/\bxox[abprs]-[A-Za-z0-9-]{10,}/g, "xox-redacted"],
  [/\bAIza[A-Za-z0-9_-]{30,}/g, "AIza-redacted"],
  [/\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{12,}/g, "Bearer redacted"],
];

const placeRules: readonly Rule[] = [[/\b(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b/g, "$1:1"]];

/** Fields that name a person or an installation. */
const privateField = new RegExp(
  `^(${["installation", "machine", "device", "anonymous", "user"].map((name) => `${name}_?id`).join("|")}|` +
    "account_?uuid|organization_?uuid|user_?email|email|hostname)$",
  "i",
);

/** Sockets, by the longest path that ends in `.sock`. Each path is read once. */
const withoutSockets = (text: string): string =>
  text.replaceAll(/(?:\/[\w.@-]+)+/g, (path) => path.replace(/^.*[\w.@-]\.sock\b/s, "/tmp/agent.sock"));

/** Characters of a token of three parts that are separated by dots. */
const TOKEN_CHARACTERS = /[A-Za-z0-9_.-]{29,}/g;
const MIN_TOKEN_PART = 8;

/** JSON Web Tokens: `eyJ` with three parts. Each run of token characters is read once. */
const withoutTokens = (text: string): string => text.replaceAll(TOKEN_CHARACTERS, tokensRedacted);

function tokensRedacted(run: string): string {
  const parts = run.split(".");
  const out: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? "";
    const start = part.search(/\beyJ[A-Za-z0-9_-]{8}/);
    const areLong = [parts[at + 1], parts[at + 2]].every((next) => (next ?? "").length >= MIN_TOKEN_PART);
    if (start === -1 || !areLong) out.push(part);
    else {
      out.push(`${part.slice(0, start)}jwt-redacted`);
      at += 2;
    }
  }
  return out.join(".");
}

export function openRedaction({ directory, secrets }: RedactionOptions): (value: unknown) => unknown {
  const places: readonly (readonly [string, string])[] = [
    [directory, "/workspace"],
    [homedir(), "/home/user"],
    [tmpdir(), "/tmp"],
  ];
  const text = (given: string): string => {
    let out = given;
    for (const secret of secrets) if (secret.length >= 8) out = out.replaceAll(secret, "redacted");
    for (const [place, name] of places) if (place.length > 1) out = out.replaceAll(place, name);
    for (const [pattern, replacement] of secretRules) out = out.replaceAll(pattern, replacement);
    out = withoutSockets(withoutTokens(out));
    for (const [pattern, replacement] of placeRules) out = out.replaceAll(pattern, replacement);
    const { username } = userInfo();
    return username === "root" || username.length < 3
      ? out
      : out.replaceAll(new RegExp(`\\b${username}\\b`, "g"), "user");
  };
  const deep = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(deep);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        privateField.test(name) && typeof inner === "string" ? "redacted" : deep(inner),
      ]),
    );
  };
  return deep;
}

/** Values of variables whose names say that they are secret. */
export const secretsOf = (environment: NodeJS.ProcessEnv): string[] =>
  Object.entries(environment).flatMap(([name, value]) =>
    /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i.test(name) && value !== undefined ? [value] : [],
  );

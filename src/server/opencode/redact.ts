/** Credentials in what OpenCode's server answers: a client may change them, but is never shown them. */
import { isShape } from "../../dialects/shape.ts";

export const REDACTED = "[redacted]";

const names = /^(api_?key|key|token|secret|password|passwd|authorization|access|refresh|credential|cookie)$/i;
const endings = /(_|-|api|access|secret|private)(key|token|secret|password)$|(Key|Token|Secret|Password)$/;
/** Whole tables of values that are secrets more often than not. */
const tables = new Set(["headers", "environment", "env"]);

/** The same value with every secret replaced. */
export function redacted(value: unknown): unknown {
  if (typeof value === "string") return withoutLogin(value);
  if (Array.isArray(value)) return value.map(redacted);
  if (!isShape(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (typeof inner === "string" && inner !== "" && isSecret(name)) return [name, REDACTED];
      if (tables.has(name) && isShape(inner)) return [name, hidden(inner)];
      return [name, redacted(inner)];
    }),
  );
}

const isSecret = (name: string): boolean => names.test(name) || endings.test(name);

const hidden = (table: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(table).map(([name, inner]) => [name, typeof inner === "string" ? REDACTED : inner]),
  );

/** `https://name:password@host` without what comes before the host. */
const withoutLogin = (text: string): string => text.replaceAll(/\b([a-z][a-z0-9+.-]{0,60}:\/\/)[^\s/@]+@/gi, "$1");

/** What was shown redacted must not come back as a value. */
export function holdsRedacted(value: unknown): boolean {
  if (typeof value === "string") return value.includes(REDACTED);
  if (Array.isArray(value)) return value.some(holdsRedacted);
  return isShape(value) && Object.values(value).some(holdsRedacted);
}

/** What goes wrong with Postgres: to what, and what to do next. No password and no stored value is repeated. */
import { ApiError } from "../../../protocol/errors.ts";
import { hideInUrls } from "../../url-secrets.ts";

/** The database as it may be shown: never with credentials. */
export interface WrittenPlace {
  readonly name: string;
  /** What must not appear in a message. */
  readonly secrets: readonly string[];
}

/** SQLSTATE of `franca.append` for a writer that does not own the session any more is none: it is an answer. */
const CUT =
  /^(08...|57P0[1-5]|CONNECTION_|CONNECT_TIMEOUT|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOST|ENETUNREACH|ENOTFOUND|EAI_)/;

export function placeOf(url: string): WrittenPlace {
  if (!URL.canParse(url)) return { name: "the Postgres database", secrets: [url] };
  const { username, password, host, pathname } = new URL(url);
  const database = decodeURIComponent(pathname.slice(1));
  const written = decodeURIComponent(password);
  return {
    name: `the Postgres database ${database === "" ? username : database} at ${host === "" ? "its socket" : host}`,
    secrets: [url, password, written].filter((secret) => secret !== ""),
  };
}

export function storageError(place: WrittenPlace, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const code = codeOf(error);
  const said = error instanceof Error && error.message !== "" ? error.message : code;
  let message = hideInUrls(said, "[redacted]");
  for (const secret of place.secrets) message = message.replaceAll(secret, "[redacted]");
  // Not the driver's own error: it carries the values of the statement.
  const cause = new Error(`${code}: ${message}`);
  if (CUT.test(code)) cause.name = "CutConnection";
  return new ApiError("storage_error", `${capital(adviceFor(place.name, code))} (${message})`, { cause });
}

export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "unknown";
  if ("code" in error && typeof error.code === "string") return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : "unknown";
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function adviceFor(place: string, code: string): string {
  if (CUT.test(code)) return `${place} cannot be reached: check that it runs; Franca tries again by itself.`;
  switch (code) {
    case "28P01":
    case "28000":
      return `${place} refuses the user or the password: check the database URL.`;
    case "3D000":
      return `${place} does not exist: create it first.`;
    case "42501":
      return `${place}: the role may not do this; it needs the schema franca as its own.`;
    case "53200":
      return `${place} has no memory left: Franca continues by itself when it has.`;
    case "53100":
      return `${place} has no room left: free some space, then Franca continues by itself.`;
    case "53300":
      return `${place} has no connection left: raise max_connections, or start fewer hosts.`;
    case "25006":
      return `${place} is read-only: connect to the primary server.`;
    case "57014":
      return `${place} took too long: look for locks and for a disk that is too slow.`;
    default:
      return `${place} could not be read or written.`;
  }
}

/** Checks before a request reaches its route: token or credential, Host header on loopback, origin of the page. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { ApiError } from "../../protocol/errors.ts";
import { type Caller, OWNER } from "../credentials/access.ts";
import type { Credentials } from "../credentials/store.ts";

/** Constant in time whatever is given: both sides are hashed to one length before they are compared. */
export function tokenMatches(given: string, { token }: { token: string }): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The token of a Bearer header, or the password of a Basic one, as OpenCode's clients send it. */
export function tokenOf(authorization: string | undefined): string | null {
  const [, scheme, value] = /^(\S+)\s+(\S+)\s*$/.exec(authorization ?? "") ?? [];
  if (scheme === undefined || value === undefined) return null;
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return null;
  const decoded = Buffer.from(value, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? null : decoded.slice(colon + 1);
}

export interface TokenCheck {
  /** Null: the daemon runs without a token, and every client counts as the owner. */
  readonly token: string | null;
  readonly credentials: Pick<Credentials, "find">;
}

/** Returns the sender of a request. Throws unless the request has the token or a valid credential. */
export function callerOf(authorization: string | undefined, { token, credentials }: TokenCheck): Caller {
  if (token === null) return OWNER;
  const given = tokenOf(authorization);
  if (given === null) {
    throw new ApiError(
      "token_invalid",
      "This daemon needs its token: send `Authorization: Bearer <token>` (`franca token` prints it).",
    );
  }
  if (tokenMatches(given, { token })) return OWNER;
  const found = credentials.find(given);
  if (found !== null) return { type: "limited", ...found };
  throw new ApiError("token_invalid", "The token is not this daemon's: `franca token` prints the right one.");
}

/** For what only the person may do: a page's credential is not enough, nor is a daemon that asks for no token. */
export function checkPerson(authorization: string | undefined, { token }: { readonly token: string | null }): void {
  const given = tokenOf(authorization);
  if (token !== null && given !== null && tokenMatches(given, { token })) return;
  throw new ApiError(
    "person_only",
    token === null
      ? "This daemon runs without a token, so anybody could ask: change it in the config file."
      : "This needs the daemon's token itself, not a credential of a page: use the franca command.",
  );
}

/**
 * Shows that we know the token without sending it. The port is part of it: what listens on another port cannot pass
 * our answer on as its own.
 */
export function proofOf({ token, nonce, port }: { token: string; nonce: string; port: number }): string {
  return createHmac("sha256", token).update(`franca health\n${nonce}\n${port}`).digest("hex");
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (isIP(name) === 4) return name.startsWith("127.");
  if (isIP(name) === 6) return name === "::1" || name.startsWith("::ffff:127.");
  return name === "localhost" || name.endsWith(".localhost");
}

/** A name or an address, then a port; nothing else may follow either. */
const HOST = /^(\[[\da-f:.]+\]|[^:[\]\s]+)(?::\d{1,5})?$/i;

/** A page of another site whose name resolves to 127.0.0.1 still sends its own name as Host. */
export function checkHost(host: string | undefined): void {
  const [, name] = HOST.exec(host ?? "") ?? [];
  if (name !== undefined && isLoopback(name)) return;
  throw new ApiError(
    "host_not_allowed",
    `The Host header ${JSON.stringify(host ?? "")} is not a name of this machine's loopback; use 127.0.0.1 or localhost.`,
  );
}

/** `*` opens the daemon to every origin. An opaque origin (`null`) is nobody's, so it is never let in. */
export function originAllowed(origin: string, { allowed }: { allowed: readonly string[] }): boolean {
  return origin !== "null" && (allowed.includes("*") || allowed.includes(origin));
}

export interface SiteCheck {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly allowed: readonly string[];
  /** The path is a static file, which does nothing by itself. */
  readonly isStatic: boolean;
}

/**
 * No page but our own, on any method: a foreign page may send requests without asking first, so closed CORS alone
 * would not keep it from having an effect. Programs that are no browser send neither header.
 */
export function checkSite({ headers, method, allowed, isStatic }: SiteCheck): void {
  const { origin, host } = headers;
  if (origin !== undefined) {
    const isOwn = origin === `http://${host}` || origin === `https://${host}`;
    if (!isOwn && !originAllowed(origin, { allowed })) throw refused(`Pages of ${origin}`, origin);
    return;
  }
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return;
  const isNavigation = method === "GET" && headers["sec-fetch-mode"] === "navigate";
  if (isNavigation && isStatic && headers["sec-fetch-dest"] === "document") return;
  throw refused("Pages of other sites", "<origin>");
}

const refused = (who: string, origin: string): ApiError =>
  new ApiError(
    "origin_not_allowed",
    origin === "null"
      ? "Pages without an origin of their own (sandboxed frames, files) may not use this daemon."
      : `${who} may not use this daemon; to let them in, start it with --cors-allow-origin ${origin}.`,
  );

/** Who may speak to the daemon: the token, the Host header on loopback, and the origins of browsers. */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { ApiError } from "../protocol/errors.ts";

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

export function checkToken(authorization: string | undefined, { token }: { token: string }): void {
  const given = tokenOf(authorization);
  if (given === null) {
    throw new ApiError("token_invalid", "This daemon needs its token: send `Authorization: Bearer <token>`.");
  }
  if (!tokenMatches(given, { token })) throw new ApiError("token_invalid", "The token is not this daemon's.");
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (isIP(name) === 4) return name.startsWith("127.");
  if (isIP(name) === 6) return name === "::1" || name.startsWith("::ffff:127.");
  return name === "localhost" || name.endsWith(".localhost");
}

/** A page of somebody else's whose name was bound to 127.0.0.1 still sends its own name as Host. */
export function checkHost(host: string | undefined): void {
  if (host !== undefined && isLoopback(hostName(host))) return;
  throw new ApiError(
    "host_not_allowed",
    `The Host header ${JSON.stringify(host ?? "")} is not a name of this machine's loopback; use 127.0.0.1 or localhost.`,
  );
}

/** Without the port. */
function hostName(host: string): string {
  return host.startsWith("[") ? host.slice(0, host.indexOf("]") + 1) : (host.split(":")[0] ?? "");
}

/** `*` opens the daemon to every origin. */
export function originAllowed(origin: string, { allowed }: { allowed: readonly string[] }): boolean {
  return allowed.includes("*") || allowed.includes(origin);
}

export interface OriginCheck {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly method: string;
  readonly allowed: readonly string[];
}

/** A foreign page may send a POST without asking first, so closed CORS alone would not keep it from changing things. */
export function checkOrigin({ origin, host, method, allowed }: OriginCheck): void {
  if (origin === undefined || method === "GET" || method === "HEAD") return;
  if (origin === `http://${host}` || origin === `https://${host}` || originAllowed(origin, { allowed })) return;
  throw new ApiError(
    "origin_not_allowed",
    `Pages of ${origin} may not change anything here; start the daemon with --cors-allow-origin ${origin}.`,
  );
}

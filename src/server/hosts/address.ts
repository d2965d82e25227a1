/** Where another host is called: its URL comes from the database, so it is checked like any other input. */
import { isIP } from "node:net";
import { ApiError } from "../../protocol/errors.ts";
import type { OwnerHost } from "../../runtime/log/contract.ts";
import { placeOf } from "../../runtime/session/owner.ts";
import { isLoopback } from "../http/auth.ts";

export interface HostAddress {
  readonly isTls: boolean;
  readonly hostname: string;
  readonly port: number;
  /** What stands before every path there, for hosts behind a proxy. */
  readonly prefix: string;
}

export const unavailable = (message: string, options?: { readonly cause: unknown }): ApiError =>
  new ApiError("host_unavailable", message, options);

export function addressOf(host: OwnerHost): HostAddress {
  const place = placeOf(host);
  if (!host.alive) throw unavailable(`It is on ${place}, which is gone: start that host again.`);
  if (host.url === "") throw unavailable(`It is on ${place}, which does not listen yet: try again in a moment.`);
  const { protocol, hostname, port, pathname, username, password, search, hash } = parsed(host);
  const isTls = protocol === "https:";
  if (!isTls && protocol !== "http:") throw unusable(host, "is not an http or https URL");
  if (username !== "" || password !== "") throw unusable(host, "has a user or a password in it");
  if (search !== "" || hash !== "") throw unusable(host, "has more than a path");
  if (!isTls && !isThisMachine(hostname)) {
    throw unavailable(
      `It is on ${place}, and hosts call each other without TLS on loopback only: give that host an https URL (--host-url).`,
    );
  }
  const prefix = pathname.replace(/\/+$/, "");
  return { isTls, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port) || (isTls ? 443 : 80), prefix };
}

function parsed(host: OwnerHost): URL {
  if (URL.canParse(host.url)) return new URL(host.url);
  throw unusable(host, "cannot be read");
}

/** Without what is in it: it may be a password. */
const unusable = ({ id }: OwnerHost, why: string): ApiError =>
  unavailable(`It is on host ${id}, whose URL ${why}: give that host another one (--host-url).`);

/** Other names of loopback would be resolved, by whatever answers for them. */
const isThisMachine = (hostname: string): boolean =>
  hostname === "localhost" || (isIP(hostname.replace(/^\[(.*)\]$/, "$1")) > 0 && isLoopback(hostname));

/**
 * One line per request at level `info`, written when its answer is over: which route, which session, which status, how
 * long. Of the address only the route's pattern and the session are written, so no query, no code and no token can be
 * in it, whatever somebody typed there.
 */
import { isPrinted, type Logger } from "../../runtime/logger.ts";
import { decoded } from "./request.ts";
import type { Exchange } from "./router.ts";

export const REQUEST_ID = "franca-request-id";

const MOST_SESSION = 128;

export interface AccessLog {
  /** Watches one request from its first moment; the answer carries its id. */
  readonly watch: (exchange: Exchange) => void;
}

export function openAccessLog(logger: Logger): AccessLog {
  // Unique within the log: a process, and a count.
  const process = Date.now().toString(36);
  let count = 0;
  return {
    watch({ outgoing, method, path, route: found }) {
      count += 1;
      const request = `${process}-${count.toString(36)}`;
      outgoing.setHeader(REQUEST_ID, request);
      if (!isPrinted(logger, "info")) return;
      const startedAt = performance.now();
      outgoing.once("close", () => {
        const route = found ?? "-";
        logger.info("request.ended", {
          request,
          method,
          route,
          ...sessionIn(route, path),
          status: outgoing.statusCode,
          ms: Math.round(performance.now() - startedAt),
          // The client left before it had the whole answer; streams end like that.
          ...(outgoing.writableFinished ? {} : { cut: true }),
        });
      });
    },
  };
}

const SESSION_PARAMETER = /^:(id|sessionID)\b/;

/** The session that a route is about, by the place of its parameter in the route. */
function sessionIn(route: string, path: string): { readonly session?: string } {
  const at = route.split("/").findIndex((part) => SESSION_PARAMETER.test(part));
  const session = at === -1 ? undefined : path.split("/")[at];
  return session === undefined ? {} : { session: decoded(session).slice(0, MOST_SESSION) };
}

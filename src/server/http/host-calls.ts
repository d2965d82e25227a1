/** Calls between hosts as one of them makes and takes them: signed, checked, and taken once. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ApiError } from "../../protocol/errors.ts";
import type { DiskHost, HostIdentity } from "../../runtime/log/hosts-contract.ts";
import {
  answerProof,
  authorizationOf,
  digestOf,
  hostKeyOf,
  isAnswerProof,
  requestDigest,
  type SignedCall,
  signedCallOf,
} from "./host-key.ts";
import { expectBody } from "./request.ts";

/** How far the time of a call may be from now, by the database's clock. */
const WINDOW_MS = 30_000;
/** More calls in that time are refused rather than forgotten. */
const MOST = 100_000;

/** Shows the caller that it has reached the host that it meant. */
export const ANSWER_HEADER = "franca-host-answer";
/** Beside a refusal: the directory is on another host by now, and nothing was done. */
export const ELSEWHERE_HEADER = "franca-host-elsewhere";

export interface OutgoingCall {
  readonly authorization: string;
  /** Whether an answer comes from the host that was called. */
  readonly isAnswered: (answer: Pick<IncomingMessage, "headers">) => boolean;
}

export interface HostCalls {
  readonly sign: (
    host: DiskHost,
    request: { readonly method: string; readonly target: string; readonly body: Uint8Array },
  ) => Promise<OutgoingCall>;
  /** Throws unless another host has signed exactly this request for this one. Gives the headers of its answer. */
  readonly take: (incoming: IncomingMessage) => Promise<Readonly<Record<string, string>>>;
  /** The headers of a call's answer; null for a request of anybody else. */
  readonly taken: (incoming: IncomingMessage) => Readonly<Record<string, string>> | null;
}

export function openHostCalls({ token, host }: { token: string; host: HostIdentity }): HostCalls {
  let made: Buffer | null = null;
  const key = (): Buffer => {
    made ??= hostKeyOf(token);
    return made;
  };
  const nonces = openNonces();
  const calls = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
  return {
    async sign({ id, epoch }, { method, target, body }) {
      const call: SignedCall = {
        ...{ from: host.self, to: id, epoch, time: await host.clock(), nonce: randomBytes(18).toString("base64url") },
        ...{ request: requestDigest({ method, target }), bytes: body.length, body: digestOf(body) },
      };
      return {
        authorization: authorizationOf(key(), call),
        isAnswered: ({ headers }) => isAnswerProof(key(), call, String(headers[ANSWER_HEADER] ?? "")),
      };
    },
    async take(incoming) {
      const call = signedCallOf(key(), incoming.headers.authorization ?? "");
      if (call === null) throw refused("This call is not signed with the key of this host's token.");
      checkCall(incoming, { call, host });
      nonces.take(call.nonce);
      const late = Math.abs((await host.clock()) - call.time);
      if (late > WINDOW_MS) throw refused(`This call was signed ${Math.round(late / 1_000)} s ago.`);
      expectBody(incoming, call.body);
      const headers = { [ANSWER_HEADER]: answerProof(key(), call) };
      calls.set(incoming, headers);
      return headers;
    },
    taken: (incoming) => calls.get(incoming) ?? null,
  };
}

function checkCall({ headers, method = "", url = "" }: IncomingMessage, { call, host }: Checked): void {
  if (call.to !== host.self) throw refused(`This call is for host ${call.to}, and this is host ${host.self}.`);
  if (call.epoch !== host.epoch()) throw refused("This call is for an earlier start of this host.");
  // Hosts are no pages.
  if (headers.origin !== undefined || headers["sec-fetch-site"] !== undefined) throw refused("A page signs no calls.");
  if (call.request !== requestDigest({ method, target: url })) throw refused("This call is for another request.");
  const isWhole = headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === call.bytes;
  if (!isWhole) throw refused("This call is for another body.");
}

interface Checked {
  readonly call: SignedCall;
  readonly host: HostIdentity;
}

const refused = (why: string): ApiError => new ApiError("token_invalid", why);

/** A call that comes twice is not taken twice; one that is older than they are kept is too old. */
function openNonces(): { readonly take: (nonce: string) => void } {
  const kept = new Map<string, number>();
  return {
    take(nonce) {
      const now = performance.now();
      for (const [old, until] of kept) {
        if (until > now) break;
        kept.delete(old);
      }
      if (kept.has(nonce)) throw refused("This call was taken before.");
      if (kept.size >= MOST) throw new ApiError("host_unavailable", "Too many calls of other hosts: try again later.");
      kept.set(nonce, now + 2 * WINDOW_MS);
    },
  };
}

/**
 * The key by which hosts of one log know each other: made from their token, and good for calls alone. Each call is
 * signed for one host in its present life, one request, a short time and once, so what a wrong address gets to see is
 * of no use to it; a key that is sent along would be.
 */
import { createHash, createHmac, scryptSync, timingSafeEqual } from "node:crypto";
import * as z from "zod";

export const SCHEME = "franca-host";

/** What a signature is about. */
export const SignedCall = z.object({
  from: z.string(),
  to: z.string(),
  /** The life of `to`: what was signed before it started again is void. */
  epoch: z.number(),
  /** By the database's clock, in milliseconds. */
  time: z.number(),
  nonce: z.string().min(16).max(64),
  /** Digest of method and target. */
  request: z.string(),
  bytes: z.number(),
  /** Digest of the body. */
  body: z.string(),
});
export type SignedCall = z.infer<typeof SignedCall>;

/** Slow on purpose: a signature must be no quicker way to guess a token than the proof in the database. */
export const hostKeyOf = (token: string): Buffer => scryptSync(token, "franca calls between hosts 1", 32);

export const digestOf = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("base64url");

export const requestDigest = ({ method, target }: { readonly method: string; readonly target: string }): string =>
  digestOf(`${method} ${target}`);

export function authorizationOf(key: Buffer, call: SignedCall): string {
  const text = Buffer.from(JSON.stringify(call)).toString("base64url");
  return `${SCHEME} ${text}.${signatureOf(key, { kind: "call", text })}`;
}

export const isHostCall = (authorization: string | undefined): boolean =>
  authorization?.slice(0, SCHEME.length + 1).toLowerCase() === `${SCHEME} `;

/** Null for what was not signed with this key. */
export function signedCallOf(key: Buffer, authorization: string): SignedCall | null {
  const [text = "", signature = ""] = authorization.slice(SCHEME.length + 1).split(".");
  if (!isEqual(signature, signatureOf(key, { kind: "call", text }))) return null;
  const { data } = SignedCall.safeParse(parsed(Buffer.from(text, "base64url").toString("utf8")));
  return data ?? null;
}

/** What shows the caller that the host it meant has let it in. */
export const answerProof = (key: Buffer, { nonce }: Pick<SignedCall, "nonce">): string =>
  signatureOf(key, { kind: "answer", text: nonce });

export const isAnswerProof = (key: Buffer, call: Pick<SignedCall, "nonce">, given: string): boolean =>
  isEqual(given, answerProof(key, call));

const signatureOf = (key: Buffer, { kind, text }: { kind: "call" | "answer"; text: string }): string =>
  createHmac("sha256", key).update(`${kind}\n${text}`).digest("base64url");

const isEqual = (given: string, right: string): boolean =>
  given.length === right.length && timingSafeEqual(Buffer.from(digestOf(given)), Buffer.from(digestOf(right)));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

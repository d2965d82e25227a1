/**
 * Which token a client sends, and to whom: before anything secret leaves, the daemon proves that it knows the token.
 * On Node the token of the data folder is found without being named; browsers use the credential they were given.
 */
import { ApiError } from "../protocol/errors.ts";
import { defaultFolder, enclosingSession, isNode, lastDaemonIn, tokenIn } from "./data-folder.ts";
import type { Fetch } from "./fetch.ts";

export interface CredentialOptions {
  /** Without a trailing slash. */
  readonly base: string;
  /** Absent: looked for in the data folder, on Node and for loopback only. `false`: none is sent. */
  readonly token?: string | false | undefined;
  /** The data folder to look in; the user's own by default. */
  readonly data?: string | undefined;
  readonly fetch: Fetch;
}

/** Something else listens where the daemon was expected; nothing was sent to it. */
export class ImpostorError extends Error {
  override readonly name = "ImpostorError";
}

export async function findCredential({ base, token, data, fetch }: CredentialOptions): Promise<string | null> {
  if (token === false || (token === undefined && !isNode())) return null;
  const url = new URL(base);
  // TLS has its own way to say who answers; and in a browser the page comes from the daemon itself.
  if (token !== undefined) {
    if (isNode() && url.protocol === "http:") await check(fetch, { url, base, token, anyPort: true });
    return token;
  }
  if (url.protocol !== "http:" || !isLoopbackName(url.hostname)) return null;
  const folder = data ?? defaultFolder();
  const found = tokenIn(folder);
  if (found === null) return null;
  const proven = await check(fetch, { url, base, token: found, anyPort: false });
  if (!proven && needsToken(folder, base)) throw impostor(url);
  if (!proven) return null;
  refuseInsideSession();
  return found;
}

interface Checking {
  readonly url: URL;
  readonly base: string;
  readonly token: string;
  /** A named address may lead through a tunnel; one that we looked up ourselves does not. */
  readonly anyPort: boolean;
}

/** True when the daemon proved itself, false when it runs without a token; throws when it is not the daemon. */
export async function check(fetch: Fetch, { url, base, token, anyPort }: Checking): Promise<boolean> {
  const nonce = crypto.randomUUID();
  const response = await fetch(`${base}/v1/health?nonce=${nonce}`);
  const { port, proof } = answerOf(await response.text());
  if (proof === null) return false;
  const expected = Number(url.port || "80");
  const isProven =
    proof !== undefined && (anyPort || port === expected) && (await verifies({ token, nonce, port, proof }));
  if (isProven) return true;
  throw impostor(url);
}

function impostor({ host, port }: URL): ImpostorError {
  return new ImpostorError(
    `What listens on ${host} is not the Franca daemon that this token belongs to, so nothing was sent to it. ` +
      `Find out which program has port ${port}; \`franca daemon status\` says where your daemon is.`,
  );
}

interface Answer {
  readonly port?: number;
  /** Null: the daemon runs without a token. Absent: it knows nothing of proofs. */
  readonly proof?: string | null;
}

function answerOf(text: string): Answer {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return {};
    const port = "port" in value && typeof value.port === "number" ? { port: value.port } : {};
    const proof = "proof" in value ? value.proof : undefined;
    return typeof proof === "string" || proof === null ? { ...port, proof } : port;
  } catch {
    return {};
  }
}

interface Proof {
  readonly token: string;
  readonly nonce: string;
  readonly port: number | undefined;
  readonly proof: string;
}

async function verifies({ token, nonce, port, proof }: Proof): Promise<boolean> {
  const text = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", text.encode(token), algorithm, false, ["verify"]);
  const bytes = Uint8Array.from(proof.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify("HMAC", key, bytes, text.encode(`franca health\n${nonce}\n${port}`));
}

const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);

/** Whether the folder's own daemon listens at this address and was started with a token. */
function needsToken(folder: string, base: string): boolean {
  const daemon = lastDaemonIn(folder);
  return daemon?.url === base && daemon.token;
}

/** An agent runs as its user, but it was not given its user's authority. */
function refuseInsideSession(): void {
  const session = enclosingSession();
  if (session === null) return;
  throw new ApiError(
    "token_invalid",
    `This program runs inside the agent session ${session}, and an agent does not get its user's token. ` +
      "A person can pass one with the option `token`.",
  );
}

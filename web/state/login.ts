/**
 * How the page gets in: a one-time code from the address, exchanged for a credential of its own, which is kept for this
 * tab and sent as `Authorization`. A tab that has none gets a code from another tab of the page: plain links work too.
 */
import { replaceFragment } from "./route.ts";

const KEY = "franca-credential";
const PORT_KEY = "franca-port";
const CHANNEL = "franca-login";
/** How long another tab has to say that it is there, and then to get a code. */
const ASK_MS = 150;
const CODE_MS = 5_000;

/** The daemon is wherever the page came from, below a path prefix too. */
export const daemonUrl = (): string => new URL(".", location.href.replace(/#.*$/, "")).href.replace(/\/$/, "");

export async function findCredential(): Promise<string | null> {
  const fields = new URLSearchParams(location.hash.slice(1));
  const code = fields.get("code");
  if (code !== null) {
    replaceFragment(fields.get("to") === null ? "#/" : `#${fields.get("to")}`);
    keep(await exchange(code));
  }
  const own = sessionStorage.getItem(KEY);
  if (own !== null) return own;
  const given = await askOtherTabs();
  if (given !== null) keep(given);
  return given;
}

export function forgetCredential(): void {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(PORT_KEY);
}

function keep(credential: string): void {
  sessionStorage.setItem(KEY, credential);
  sessionStorage.removeItem(PORT_KEY);
}

async function exchange(code: string): Promise<string> {
  const response = await fetch(`${daemonUrl()}/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const answer: unknown = await response.json();
  const field = (name: string): string | null => {
    if (typeof answer !== "object" || answer === null) return null;
    const value = new Map<string, unknown>(Object.entries(answer)).get(name);
    return typeof value === "string" ? value : null;
  };
  const credential = field("credential");
  if (credential === null) throw new Error(field("detail") ?? "The daemon did not accept the code.");
  return credential;
}

/** Text in base64url, as the daemon writes its hashes. */
const base64url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const text = new TextEncoder();
const sha256 = async (value: string): Promise<string> =>
  base64url(await crypto.subtle.digest("SHA-256", text.encode(value)));

/** The daemon that this page logged in to; a daemon that does not know its credential (any more); something else. */
export type DaemonHere = "ours" | "logged-out" | "other";

/**
 * Asks whatever listens to prove that it knows this page's credential, without sending it. Browsers offer the means on
 * loopback and over TLS only: elsewhere it cannot be asked.
 */
export async function daemonHere(): Promise<DaemonHere> {
  const credential = sessionStorage.getItem(KEY);
  if (credential === null || !isSecureContext) return "ours";
  const secret = await sha256(credential);
  const nonce = crypto.randomUUID();
  const response = await fetch(`${daemonUrl()}/v1/health?nonce=${nonce}&login=${await sha256(secret)}`);
  const answer: unknown = await response.json().catch(() => null);
  if (typeof answer !== "object" || answer === null || !("loginProof" in answer) || !("port" in answer)) return "other";
  const { loginProof, port } = answer;
  if (loginProof === null) return "logged-out";
  // A proof names the daemon's port, so what took this one cannot pass on a proof of a daemon that moved.
  const before = sessionStorage.getItem(PORT_KEY);
  if (typeof loginProof !== "string" || (before !== null && before !== String(port))) return "other";
  const key = await crypto.subtle.importKey("raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const bytes = Uint8Array.from(loginProof.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const isProven = await crypto.subtle.verify("HMAC", key, bytes, text.encode(`franca health\n${nonce}\n${port}`));
  if (isProven) sessionStorage.setItem(PORT_KEY, String(port));
  return isProven ? "ours" : "other";
}

/** Of one asking tab: who is there, the one that shall answer, and its answer. */
type Message =
  | { readonly type: "ask"; readonly by: string }
  | { readonly type: "here"; readonly by: string; readonly tab: string }
  | { readonly type: "please"; readonly by: string; readonly tab: string }
  | { readonly type: "code"; readonly by: string; readonly code: string };

/**
 * Pages of other origins cannot take part in this channel. What crosses it is a one-time code, which the daemon makes
 * for the tab that answers: no credential is handed around, and a tab whose daemon is gone has nothing to give.
 */
async function askOtherTabs(): Promise<string | null> {
  const by = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const channel = new BroadcastChannel(CHANNEL);
  const code = await new Promise<string | null>((resolve) => {
    let timer = setTimeout(() => resolve(null), ASK_MS);
    let chosen = false;
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.by !== by) return;
      if (data.type === "code") resolve(data.code);
      if (data.type !== "here" || chosen) return;
      chosen = true;
      clearTimeout(timer);
      timer = setTimeout(() => resolve(null), CODE_MS);
      channel.postMessage({ type: "please", by, tab: data.tab } satisfies Message);
    };
    channel.postMessage({ type: "ask", by } satisfies Message);
  });
  channel.close();
  return code === null ? null : exchange(code).catch(() => null);
}

interface Answering {
  readonly isLive: () => boolean;
  /** From the daemon. */
  readonly makeCode: () => Promise<string>;
}

/** Answers tabs that ask, for as long as this page is connected to its daemon. */
export function answerOtherTabs({ isLive, makeCode }: Answering): void {
  const tab = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === "ask" && isLive()) channel.postMessage({ type: "here", by: data.by, tab } satisfies Message);
    if (data.type !== "please" || data.tab !== tab) return;
    void makeCode()
      .then((code) => channel.postMessage({ type: "code", by: data.by, code } satisfies Message))
      .catch(() => {});
  };
}

/**
 * How the page gets in: a one-time code from the address, exchanged for a credential of its own, which is kept for this
 * tab and sent as `Authorization`. Another tab of the same page may hand its credential on, so that plain links work.
 */
import { replaceFragment } from "./route.ts";

const KEY = "franca-credential";
const CHANNEL = "franca-login";
/** How long another tab has to answer. */
const ASK_MS = 150;

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
}

function keep(credential: string): void {
  sessionStorage.setItem(KEY, credential);
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

type Message = { readonly type: "ask" } | { readonly type: "give"; readonly credential: string };

/** Pages of other origins cannot take part in this channel. */
function askOtherTabs(): Promise<string | null> {
  const channel = new BroadcastChannel(CHANNEL);
  return new Promise((resolve) => {
    const done = (credential: string | null): void => {
      clearTimeout(timer);
      channel.close();
      resolve(credential);
    };
    const timer = setTimeout(() => done(null), ASK_MS);
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.type === "give") done(data.credential);
    };
    channel.postMessage({ type: "ask" });
  });
}

/** Answers tabs that ask, for as long as this page is logged in. */
export function answerOtherTabs(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    const credential = sessionStorage.getItem(KEY);
    if (data.type === "ask" && credential !== null) channel.postMessage({ type: "give", credential });
  };
}

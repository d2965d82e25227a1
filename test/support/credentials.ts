/** Requests with a credential, for tests about what each kind of it may do. */
import type { CreatedToken, CreateToken } from "../../src/protocol/tokens.ts";
import { startDaemon } from "./daemon.ts";

export const TOKEN = "the-token-of-the-owner";

export interface Sent {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

export async function startGuarded(options: Parameters<typeof startDaemon>[0] = {}) {
  const daemon = await startDaemon({ token: TOKEN, ...options });
  const send = async (secret: string, operation: string, body?: unknown): Promise<Sent> => {
    const [method = "GET", path = "/"] = operation.split(" ");
    const left = new AbortController();
    const response = await fetch(`${daemon.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}` },
      signal: left.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
    const text = isStream ? "stream" : await response.text();
    left.abort();
    return { status: response.status, code: /"code":"(\w+)"/.exec(text)?.[1] ?? "", text };
  };
  const issue = async (grant: CreateToken): Promise<CreatedToken> => {
    const { status, text } = await send(TOKEN, "POST /v1/tokens", grant);
    if (status !== 201) throw new Error(`${status} ${text}`);
    return JSON.parse(text);
  };
  const logIn = async (): Promise<string> => {
    const { code } = await daemon.client.makeLoginCode();
    const { text } = await send("", "POST /v1/login", { code });
    const { credential }: { credential: string } = JSON.parse(text);
    return credential;
  };
  return { ...daemon, send, issue, logIn };
}

export type Guarded = Awaited<ReturnType<typeof startGuarded>>;

/** What OpenCode's TUI gets for a folder. */
export const clientOf = (folder: string): CreateToken => ({
  kind: "client",
  surface: "opencode",
  folders: [folder],
  actions: ["read", "create", "prompt", "answer", "abort", "manage", "delete", "shell"],
  ttlMs: 60_000,
});

/** A program with all actions that can be granted on the universal API. */
export const programOf = (folder: string): CreateToken => ({ ...clientOf(folder), kind: "token", surface: "v1" });

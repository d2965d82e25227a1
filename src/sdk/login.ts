/** How a page gets in: a one-time code (`franca open`, `makeLoginCode`) is exchanged for a credential of the page. */
import type { LoginCredential } from "../protocol/resources.ts";
import { openHttp } from "./http.ts";
import { checkId } from "./usage.ts";

export interface LoginOptions {
  /** Where the daemon listens; in a browser, the page's own origin when absent. */
  readonly url?: string | undefined;
  /** It works once. */
  readonly code: string;
}

/** The credential goes into `connect({ token })`. */
export async function login({ url, code }: LoginOptions): Promise<LoginCredential> {
  checkId(code, { what: "login: `code`" });
  return openHttp({ url, token: false }).json("/v1/login", { method: "POST", body: { code } });
}

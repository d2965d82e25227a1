/** What shows a client that this daemon knows the token, and a page that it knows the page's credential. */
import { proofOf } from "./auth.ts";
import type { Logins } from "./logins.ts";
import type { Proofs } from "./route.ts";

interface Proving {
  readonly token: string | null;
  readonly nonce: string;
  readonly login: string | undefined;
  readonly logins: Logins;
  readonly port: number;
}

export function proved({ token, nonce, login, logins, port }: Proving): Proofs {
  const under = (key: string | null): string | null => (key === null ? null : proofOf({ token: key, nonce, port }));
  return {
    port,
    proof: under(token),
    ...(login === undefined ? {} : { loginProof: under(logins.keyOf(login)) }),
  };
}

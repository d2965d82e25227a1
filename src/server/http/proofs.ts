/** What shows a client that this daemon knows the token, and a page that it knows the page's credential. */

import type { Credentials } from "../credentials/store.ts";
import { proofOf } from "./auth.ts";
import type { Proofs } from "./route.ts";

interface Proving {
  readonly token: string | null;
  readonly nonce: string;
  readonly login: string | undefined;
  readonly credentials: Pick<Credentials, "keyOf">;
  readonly port: number;
}

export function proved({ token, nonce, login, credentials, port }: Proving): Proofs {
  const under = (key: string | null): string | null => (key === null ? null : proofOf({ token: key, nonce, port }));
  return {
    port,
    proof: under(token),
    ...(login === undefined ? {} : { loginProof: under(credentials.keyOf(login)) }),
  };
}

/** Which hosts belong together: those that have the same token. The database holds a proof of it, never the token. */
import { randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import { ApiError } from "../../../protocol/errors.ts";
import { blob, integer } from "../rows.ts";
import type { Client } from "./client.ts";

const PROOF_BYTES = 32;
const SALT_BYTES = 16;

/** The first host decides; where no host lives any more, the next one may have another token. */
export async function checkToken(client: Client, token: string): Promise<void> {
  const salt = randomBytes(SALT_BYTES);
  await client.transaction(async ({ query }) => {
    await query("LOCK TABLE franca.cluster IN EXCLUSIVE MODE");
    const [known] = await query("SELECT salt, proof FROM franca.cluster");
    if (known !== undefined && isProof(token, { salt: blob(known, "salt"), proof: blob(known, "proof") })) return true;
    const [hosts = {}] = await query("SELECT count(*) AS n FROM franca.hosts WHERE lease_until > clock_timestamp()");
    if (known !== undefined && integer(hosts, "n") > 0) {
      throw new ApiError(
        "token_invalid",
        `The hosts of ${client.place.name} have another token: start this one with theirs, or stop them first.`,
      );
    }
    await query("DELETE FROM franca.cluster");
    await query("INSERT INTO franca.cluster (salt, proof) VALUES ($1, $2)", salt, proofOf(token, salt));
    return true;
  });
}

const proofOf = (token: string, salt: Uint8Array): Buffer => scryptSync(token, salt, PROOF_BYTES);

const isProof = (token: string, { salt, proof }: { salt: Uint8Array; proof: Uint8Array }): boolean =>
  proof.length === PROOF_BYTES && timingSafeEqual(proofOf(token, salt), proof);

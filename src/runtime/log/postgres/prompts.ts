/** The insert of a prompt, once for each key of its sender. */
import { promptChecksum } from "../checksum.ts";
import type { AddedPrompt, NewPrompt } from "../contract.ts";
import { toPrompt } from "../stored-records.ts";
import type { Queries } from "./client.ts";

export async function insertPrompt(
  { query }: Queries,
  { key, prompt, delivery, idempotencyKey, sequence }: NewPrompt & { readonly key: number },
): Promise<AddedPrompt> {
  const { prompt_id: id } = prompt;
  const body = JSON.stringify(prompt);
  const [fresh] = await query(
    `INSERT INTO franca.prompts (session, id, idempotency_key, body, delivery, status, sequence, checksum)
     VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7) ON CONFLICT (session, idempotency_key) DO NOTHING RETURNING id`,
    ...[key, id, idempotencyKey, body, delivery, sequence, promptChecksum({ id, idempotencyKey, body, delivery })],
  );
  if (fresh !== undefined)
    return { stored: { prompt, delivery, idempotencyKey, sequence, status: "queued" }, fresh: true };
  const select = "SELECT * FROM franca.prompts WHERE session = $1 AND idempotency_key = $2";
  const [seen = {}] = await query(select, key, idempotencyKey);
  return { stored: toPrompt(seen), fresh: false };
}

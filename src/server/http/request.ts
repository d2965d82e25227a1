/**
 * Reads what a request carries: a bounded body and the query, checked against their schemas, errors naming the field.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { ApiError } from "../../protocol/errors.ts";

export async function readJson(
  incoming: IncomingMessage,
  { maxBytes, optional }: { maxBytes: number; optional: boolean },
): Promise<unknown> {
  const text = await readBody(incoming, { maxBytes });
  if (text.trim() === "") {
    if (optional) return {};
    throw new ApiError("invalid_request", "The body is empty; it must be a JSON object.");
  }
  try {
    return parseJson(text);
  } catch (error) {
    // Where it breaks or how deep it is, not what stands there: that may be a key.
    const [place] =
      /position \d+|nested deeper than \d+ levels/.exec(error instanceof Error ? error.message : "") ?? [];
    throw new ApiError("invalid_request", `The body is not JSON${place === undefined ? "" : ` (${place})`}.`);
  }
}

const readBody = async (incoming: IncomingMessage, bound: { maxBytes: number }): Promise<string> =>
  (await readBytes(incoming, bound)).toString("utf8");

/** By request: the digest that its body must have. */
const expected = new WeakMap<IncomingMessage, string>();

/** Another body than the one of this digest (SHA-256, base64url) is refused when it is read. */
export const expectBody = (incoming: IncomingMessage, digest: string): void => void expected.set(incoming, digest);

export async function readBytes(incoming: IncomingMessage, { maxBytes }: { maxBytes: number }): Promise<Buffer> {
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      const bytes: Buffer = chunk;
      size += bytes.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid_request", "The connection broke before the body was complete.", { cause: error });
  }
  const bytes = Buffer.concat(chunks);
  const digest = expected.get(incoming);
  if (digest === undefined || createHash("sha256").update(bytes).digest("base64url") === digest) return bytes;
  throw new ApiError("token_invalid", "This is not the body that was signed.");
}

const tooLarge = (maxBytes: number): ApiError =>
  new ApiError("body_too_large", `The body is larger than ${maxBytes} bytes.`);

export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { where }: { where: string },
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError("invalid_request", describeIssues(result.error, { where }));
}

/** At most a few problems, each with the path of its field. */
export function describeIssues(error: z.ZodError, { where }: { where: string }): string {
  const shown = error.issues.slice(0, MAX_ISSUES).map((issue) => describeIssue(issue, { where }));
  const rest = error.issues.length - shown.length;
  return shown.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

const MAX_ISSUES = 5;

function describeIssue(issue: z.core.$ZodIssue, { where }: { where: string }): string {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const names = issue.keys.map((key) => `\`${path === "" ? key : `${path}.${key}`}\``).join(", ");
    return `${where}: unknown field${issue.keys.length > 1 ? "s" : ""} ${names}`;
  }
  const subject = path === "" ? where : `${where}: \`${path}\``;
  return `${subject}: ${issue.message}`;
}

/** What is not encoded as it should be stands for itself. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What an ACP client sends → our prompts and MCP servers. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isString, type Shape, shapeOf } from "../dialects/shape.ts";
import type { Attachment } from "../protocol/commands.ts";
import type { CreateSession } from "../protocol/resources.ts";

export interface PromptContent {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** Text, files that are linked, files that are embedded, and images, which become files. */
export function promptOf(blocks: unknown): PromptContent {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const block of Array.isArray(blocks) ? blocks.map(shapeOf) : []) {
    if (block.type === "text" && isString(block.text)) texts.push(block.text);
    else if (block.type === "resource") texts.push(embedded(shapeOf(block.resource)));
    else if (block.type === "resource_link" && isString(block.uri)) {
      const path = pathOf(block.uri);
      if (path === null) texts.push(block.uri);
      else attachments.push({ path, ...(isString(block.name) ? { filename: block.name } : {}) });
    } else if (block.type === "image" && isString(block.data)) attachments.push(imageFile(block, block.data));
  }
  return { text: texts.join("\n\n"), attachments };
}

const embedded = ({ uri, text }: Shape): string => `${String(uri)}:\n\`\`\`\n${String(text ?? "")}\n\`\`\``;

const pathOf = (uri: string): string | null => (uri.startsWith("file://") ? fileURLToPath(uri) : null);

/** Agents take images as files. */
function imageFile({ mimeType }: Shape, data: string): Attachment {
  const mime = isString(mimeType) ? mimeType : "image/png";
  const folder = mkdtempSync(join(tmpdir(), "franca-acp-"));
  const path = join(folder, `image.${mime.replace(/^image\//, "").replaceAll(/\W/g, "")}`);
  writeFileSync(path, Buffer.from(data, "base64"), { mode: 0o600 });
  return { path, mime };
}

export function serversOf(servers: unknown): NonNullable<CreateSession["mcp"]> {
  const list = Array.isArray(servers) ? servers.map(shapeOf) : [];
  return Object.fromEntries(
    list.map((server) => {
      const { name, command, args, env, url, headers } = server;
      if (isString(url)) return [String(name), { url, headers: recordOf(headers) }];
      const words = Array.isArray(args) ? args.filter(isString) : [];
      return [String(name), { command: String(command ?? ""), args: words, env: recordOf(env) }];
    }),
  );
}

const recordOf = (pairs: unknown): Record<string, string> =>
  Object.fromEntries(
    (Array.isArray(pairs) ? pairs.map(shapeOf) : []).map(({ name, value }) => [String(name), String(value)]),
  );

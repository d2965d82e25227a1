/** What a prompt carries besides text. Pasted pictures come as data: they are kept as files, which agents can read. */
import { fileURLToPath } from "node:url";
import { defined } from "../../core/defined.ts";
import type { Attachment, PromptExtras, PromptText } from "../../protocol/commands.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { Content } from "../http/attachment-files.ts";
import type { PromptPart } from "./prompts.ts";

export interface Carried {
  /** What the agent is given. */
  readonly text: string;
  /** What a person wrote. */
  readonly written: string;
  /** All texts in order, where some of them were not written by a person or are not for the agent. */
  readonly parts: readonly PromptText[] | null;
  readonly attachments: readonly Attachment[];
  /** Parts that only OpenCode itself understands. */
  readonly own: Pick<PromptExtras, "subtask" | "agent">;
}

/** Keeps a file, and gives its path. */
type Keep = (content: Content) => Promise<string>;

export async function keepAttachments(parts: readonly PromptPart[], keep: Keep): Promise<Carried> {
  const texts: PromptText[] = [];
  const attachments: Attachment[] = [];
  const own = { subtask: parts.filter(isOf("subtask")), agent: parts.filter(isOf("agent")) };
  for (const part of parts) {
    switch (part.type) {
      case "text":
        texts.push(textOf(part));
        break;
      case "file":
        attachments.push(await attachment(part, keep));
        texts.push(...rangeIn(part));
        break;
      case "subtask":
      case "agent":
        break;
      default:
        throw new ApiError("not_supported", `A prompt cannot have a part of type ${part.type} here.`);
    }
  }
  const given = texts.filter(({ ignored }) => ignored !== true);
  const carries = given.length + attachments.length + own.subtask.length;
  if (carries === 0) throw new ApiError("invalid_request", "The prompt is empty: nothing in it is for the agent.");
  const written = texts.filter(({ synthetic, ignored }) => synthetic !== true && ignored !== true);
  return {
    text: joined(given),
    written: joined(written),
    parts: written.length === texts.length ? null : texts,
    attachments,
    own: defined({
      subtask: own.subtask.length === 0 ? undefined : own.subtask,
      agent: own.agent.length === 0 ? undefined : own.agent,
    }),
  };
}

const joined = (texts: readonly PromptText[]): string => texts.map(({ text }) => text).join("\n");

const textOf = ({ text = "", synthetic, ignored }: PromptPart): PromptText =>
  defined({ text, synthetic: synthetic || undefined, ignored: ignored || undefined });

/** Line ranges of a file are OpenCode's own addition to the url: agents are given them in words. */
function rangeIn({ url = "", filename }: PromptPart): PromptText[] {
  if (!url.startsWith("file:")) return [];
  const query = new URLSearchParams(url.split("?")[1] ?? "");
  const [start, end] = [Number(query.get("start")), Number(query.get("end"))];
  if (!Number.isInteger(start) || start < 1) return [];
  const name = filename ?? withoutQuery(url).split("/").at(-1) ?? url;
  const lines = Number.isInteger(end) && end > start ? `lines ${start} to ${end}` : `line ${start}`;
  return [{ text: `Of the attached file ${name}, look at ${lines}.`, synthetic: true }];
}

const isOf =
  (type: string) =>
  (part: PromptPart): boolean =>
    part.type === type;

async function attachment(part: PromptPart, keep: Keep): Promise<Attachment> {
  const { url = "", mime, filename } = part;
  const described = defined({ mime, filename });
  if (url.startsWith("file:")) return { path: readable(url, () => fileURLToPath(withoutQuery(url))), ...described };
  const [, type, base64, data] = /^data:([^;,]*)((?:;[^,]*)?;base64)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined) throw new ApiError("invalid_request", "A file part needs a `file:` or `data:` url.");
  const bytes =
    base64 === undefined ? Buffer.from(readable(url, () => decodeURIComponent(data))) : Buffer.from(data, "base64");
  return { path: await keep({ bytes, mime: mime ?? type ?? "" }), ...described };
}

const SHOWN = 100;

function readable(url: string, read: () => string): string {
  try {
    return read();
  } catch (cause) {
    const message = `The url of a file part cannot be read: ${url.slice(0, SHOWN)}`;
    throw new ApiError("invalid_request", message, { cause });
  }
}

const withoutQuery = (url: string): string => url.split("?")[0] ?? url;

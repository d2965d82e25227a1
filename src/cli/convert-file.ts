/** `franca convert --from <agent>-file`: a conversation out of an agent's own session files. */
import { existsSync } from "node:fs";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { agentFiles } from "../adapters/session-files.ts";
import type { Adapter } from "../core/adapter.ts";
import { convertRecords } from "../core/replay.ts";
import { type Conversation, SessionFileError, type SessionFiles } from "../core/session-files.ts";
import { openAgentFolder } from "../runtime/session-files/folder.ts";
import type { Output } from "./pipe.ts";
import type { Renderer } from "./renderer.ts";
import { CommandError, UsageError } from "./usage.ts";

/** What `--from` takes beside the agents. */
export const fileForms: readonly string[] = agentFiles.map(({ files }) => files.form);

export interface FileConversion {
  readonly file: string;
  readonly session: string | undefined;
  readonly includeRaw: boolean;
  readonly renderer: Renderer;
  readonly output: Output;
}

/** Gives what could not be read, in a sentence each. */
export async function convertFile(form: string, conversion: FileConversion): Promise<readonly string[]> {
  const { file, session, includeRaw, renderer, output } = conversion;
  const format = agentFiles.find(({ files }) => files.form === form);
  if (format === undefined) throw new UsageError(`Cannot read ${form}. --from takes ${fileForms.join(", ")}.`);
  if (file === "-")
    throw new UsageError(`--from ${form} reads a file: name it. Standard input has no files beside it.`);
  const conversation = readConversation(format.files, { file, session });
  for (const event of eventsOf(format.adapter, conversation, includeRaw)) await output.write(renderer.render([event]));
  await output.write(renderer.end());
  await output.flush();
  return conversation.unread;
}

function eventsOf(adapter: Adapter, { nativeId, turns }: Conversation, includeRaw: boolean) {
  const records = turns.flatMap(({ entries }) => entries);
  return convertRecords({ adapter, id: nativeId, records, includeRaw });
}

function readConversation(
  files: SessionFiles,
  { file, session }: Pick<FileConversion, "file" | "session">,
): Conversation {
  const whole = resolve(file);
  if (!existsSync(whole)) throw new CommandError(`${file} could not be read: there is no such file.`);
  const root = rootOf(files, whole);
  const folder = openAgentFolder(root);
  if (folder === null) throw new CommandError(`${root} belongs to another user.`);
  try {
    const path = relative(root, whole).split(sep).join("/");
    return files.read(folder, { path, nativeId: session ?? null });
  } catch (error) {
    if (error instanceof SessionFileError) throw new CommandError(error.message, { cause: error });
    throw error;
  } finally {
    folder.close();
  }
}

/** The agent's folder above the file, so that what belongs to it is found; a file by itself is in its own folder. */
function rootOf({ tops }: SessionFiles, file: string): string {
  for (let at = dirname(file), below = basename(file); at !== dirname(at); below = basename(at), at = dirname(at)) {
    if (tops.includes(below)) return at;
  }
  return dirname(file);
}

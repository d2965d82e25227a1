/**
 * What an agent keeps of its conversations on disk, and how it is read: where the files are, what a list shows of
 * each, and how their records become the lines of the agent's live stream, so that the live adapter translates both.
 * The disk itself is behind `AgentFolder`, which the runtime supplies: it only reads, and never leaves its folder.
 */
import type { Recorded } from "./recorded.ts";

/** An entry of a folder. Links are not among them. */
export interface FolderEntry {
  readonly name: string;
  readonly kind: "file" | "folder";
}

export interface FileFacts {
  readonly size: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

export type SqlRow = Readonly<Record<string, unknown>>;

/** One agent's own folder, read-only. Paths are relative to it; what is not there, or not ours, is null or empty. */
export interface AgentFolder {
  /** By name. */
  list(path: string): readonly FolderEntry[];
  facts(path: string): FileFacts | null;
  /** The first, or the last, bytes of a file. A character that was cut in two is left out. */
  head(path: string, bytes: number): string | null;
  tail(path: string, bytes: number): string | null;
  /** A whole file; a compressed one (`.zst`) is unpacked. Throws `SessionFileError` when it is too large. */
  text(path: string): string | null;
  /** Rows of a SQLite database, through its write-ahead log. Null when there is no such database or table. */
  rows(path: string, sql: string, values?: readonly (string | number)[]): readonly SqlRow[] | null;
  /** Whether a process with this id lives; with `startedAt` (clock ticks since boot) exactly that one. */
  isAlive(pid: number, startedAt?: string): boolean;
  /** A process that holds a lock on this file; null when nobody does. */
  lockHolder(path: string): { readonly pid: number } | null;
}

/** A conversation as a list shows it. */
export interface FoundConversation {
  readonly nativeId: string;
  /** Null when nothing names it. */
  readonly title: string | null;
  readonly directory: string | null;
  /** Last activity, epoch milliseconds. */
  readonly updatedAt: number;
  /** Bytes of all its files; about, where it is rows of a database. */
  readonly size: number;
  /** The file it is read from, relative to the agent's folder. */
  readonly path: string;
}

/** One turn of a conversation, as lines of the live stream. */
export interface FileTurn {
  /** Names the turn in every reading of the same files. */
  readonly key: string;
  readonly entries: readonly Recorded[];
  /** The files say how it ended. */
  readonly ended: boolean;
}

/** A conversation, read. */
export interface Conversation {
  readonly nativeId: string;
  readonly title: string | null;
  readonly directory: string | null;
  readonly model: string | null;
  readonly turns: readonly FileTurn[];
  /** Prompts that a rewind left behind: they are not part of the conversation any more. */
  readonly abandoned: number;
  /** Lines that are no record as we know it, in a sentence each; the first few. */
  readonly unread: readonly string[];
}

/** Who else works on a conversation. */
export interface ConversationUser {
  readonly pid: number;
  readonly name: string;
}

/** The folder, below the home folder or where a variable says. */
export interface FolderPlace {
  /** Relative to the home folder. */
  readonly home: string;
  /** A variable that names another folder in place of `home`, and what is below it there. */
  readonly variable?: { readonly name: string; readonly below: string };
}

export interface SessionFiles {
  /** The name of the format for `franca convert --from`. */
  readonly form: string;
  readonly place: FolderPlace;
  /** The first names of paths in it: by them its place above a file is known. */
  readonly tops: readonly string[];
  /** All conversations; yields as it goes, so that a long list can be interrupted. */
  readonly discover: (folder: AgentFolder) => Iterable<FoundConversation | SessionFileProblem>;
  /** The conversation in this file, or with this id where a file holds several. Throws `SessionFileError`. */
  readonly read: (folder: AgentFolder, conversation: ConversationName) => Conversation;
  /** Who has it open; null when nobody is known to. */
  readonly userOf?: (folder: AgentFolder, nativeId: string) => ConversationUser | null;
  /** Why no conversation of these files can be resumed: they can only be read. */
  readonly readOnly?: string;
}

export interface ConversationName {
  readonly path: string;
  /** Null: the only one in the file. */
  readonly nativeId: string | null;
}

/** As long as the id of a session may be. */
const MOST_ID = 256;

/** Whether a value in a file can name its conversation. */
export const isConversationId = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MOST_ID;

/** A file that cannot be read, in one sentence: the others are listed all the same. */
export interface SessionFileProblem {
  readonly problem: string;
  readonly path: string;
}

/** The file is no conversation of this agent, or is damaged: the message is a sentence for a person. */
export class SessionFileError extends Error {
  override readonly name = "SessionFileError";
}

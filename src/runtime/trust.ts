/**
 * Which folders a person has trusted. Nothing of a folder runs before that: agents start without its settings, hooks,
 * MCP servers and plugins. Trust is by real path and holds for what lies below, but not for a git repository inside:
 * that is trusted by itself. It is stored in the data folder, and no file of any folder can grant it.
 */
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import type { FolderFacts } from "../core/launch.ts";
import { ApiError } from "../protocol/errors.ts";
import { gitEnvironment } from "./git.ts";
import { isDirectory } from "./is-directory.ts";

export interface TrustedFolder {
  readonly path: string;
  /** Who granted it: a person, with `franca trust` or the API, or the user's own config file. */
  readonly from: "person" | "config";
}

export interface Trust {
  readonly isTrusted: (directory: string) => boolean;
  /** What an adapter needs to know to start its agent there; `lookFor` are names of files that it asks about. */
  readonly factsOf: (directory: string, lookFor: readonly string[]) => FolderFacts;
  readonly list: () => readonly TrustedFolder[];
  /** Gives the real path that is trusted now. `force` is needed for folders that hold everybody's files. */
  readonly add: (directory: string, options: { readonly force: boolean }) => string;
  /** Gives the real path; throws when it was not trusted. */
  readonly remove: (directory: string) => string;
}

export interface TrustOptions {
  /** The data folder; null keeps what is granted in memory only. */
  readonly folder: string | null;
  /** From the user's config file. */
  readonly configured: readonly string[];
  /** The repository of a worktree that we made for a session, by its real path; null for any other folder. */
  readonly repositoryOf?: (path: string) => string | null;
}

const FILE = "trust.json";

export function openTrust({ folder, configured, repositoryOf = () => null }: TrustOptions): Trust {
  const store = folder === null ? memoryStore() : fileStore(join(folder, FILE));
  const fromConfig = configured.map(realPath);
  const trusted = (): ReadonlySet<string> => new Set([...fromConfig, ...store.read()]);
  return {
    isTrusted: (directory) => isTrusted(realPath(directory), { trusted: trusted(), repositoryOf }),
    factsOf(directory, lookFor) {
      const path = realPath(directory);
      const gitRoot = gitRootOf(path);
      const isFree = isTrusted(path, { trusted: trusted(), repositoryOf });
      return {
        path,
        trusted: isFree,
        gitRoot,
        gitEnvironment: isFree || gitRoot === null ? {} : gitEnvironment(path),
        found: foldersUpFrom(path).flatMap((at) =>
          lookFor.map((name) => join(at, name)).filter((file) => existsSync(file)),
        ),
      };
    },
    list: () => [
      ...fromConfig.map((path) => ({ path, from: "config" as const })),
      ...store.read().map((path) => ({ path, from: "person" as const })),
    ],
    add(directory, { force }) {
      const path = existing(directory);
      if (!force) refuseShared(path);
      store.write([...new Set([...store.read(), path])].sort());
      return path;
    },
    remove(directory) {
      const path = realPath(directory);
      const known = store.read();
      if (!known.includes(path)) throw notTrusted(path, fromConfig);
      store.write(known.filter((one) => one !== path));
      return path;
    },
  };
}

interface Granted {
  readonly trusted: ReadonlySet<string>;
  readonly repositoryOf: (path: string) => string | null;
}

/**
 * A trusted folder at or above the path, with no git repository that begins between the two. A worktree that we made is
 * trusted as its repository is.
 */
function isTrusted(path: string, granted: Granted): boolean {
  for (const at of foldersUpFrom(path)) {
    if (granted.trusted.has(at)) return true;
    const repository = granted.repositoryOf(at);
    if (repository !== null) return isTrusted(repository, { ...granted, repositoryOf: () => null });
    if (isGitRoot(at)) return false;
  }
  return false;
}

const gitRootOf = (path: string): string | null => foldersUpFrom(path).find(isGitRoot) ?? null;

/** A folder that is itself a bare repository has git's files in it, without a `.git`. */
const isGitRoot = (path: string): boolean =>
  existsSync(join(path, ".git")) || (existsSync(join(path, "HEAD")) && existsSync(join(path, "objects")));

/** The path itself first, the root last. */
function foldersUpFrom(path: string): string[] {
  const folders = [path];
  for (let at = dirname(path); at !== folders.at(-1); at = dirname(at)) folders.push(at);
  return folders;
}

/** Without links. A path that does not exist stays as it is: nothing below it can be trusted by accident. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function existing(directory: string): string {
  if (!isDirectory(directory))
    throw new ApiError(
      "directory_not_found",
      `The directory ${JSON.stringify(directory)} does not exist, or is not a directory: create it, or choose another.`,
    );
  return realpathSync(directory);
}

/** Folders where files of many origins lie: to trust one of them would be to trust everything. */
function refuseShared(path: string): void {
  const shared = ["/", homedir(), tmpdir(), "/tmp", "/var/tmp", "/private/tmp"].map(realPath);
  const isTemporary = shared.slice(2).some((folder) => path.startsWith(folder + sep));
  if (!shared.includes(path) && !isTemporary) return;
  throw new ApiError(
    "invalid_request",
    `${path} is ${isTemporary ? "in a folder for temporary files" : "too broad to be trusted"}: ` +
      "trust a project's folder, or insist with --force.",
  );
}

function notTrusted(path: string, configured: readonly string[]): ApiError {
  const message = configured.includes(path)
    ? `${path} is trusted by trustedFolders in the config file: remove it there.`
    : `${path} is not in the list of trusted folders (franca trust list).`;
  return new ApiError("invalid_request", message);
}

interface Store {
  readonly read: () => readonly string[];
  readonly write: (paths: readonly string[]) => void;
}

function memoryStore(): Store {
  let paths: readonly string[] = [];
  return {
    read: () => paths,
    write: (next) => {
      paths = next;
    },
  };
}

/** Read again at each use: the CLI and other processes change it too. */
function fileStore(file: string): Store {
  return {
    read() {
      if (!existsSync(file)) return [];
      const value: unknown = JSON.parse(readFileSync(file, "utf8"));
      return Array.isArray(value) ? value.filter((path) => typeof path === "string") : [];
    },
    write(paths) {
      const draft = join(dirname(file), `${basename(file)}.${process.pid}`);
      writeFileSync(draft, `${JSON.stringify(paths, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, file);
    },
  };
}

/** Inspects a requested action for the rule engine: parses the command and resolves the real paths it names. */
import { lstat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { InspectedPath, Inspection, RequestedAction } from "../permissions/inspection.ts";
import { runsCode } from "../permissions/protected-files.ts";
import { type CandidatePath, parseShellCommand } from "../permissions/shell-command.ts";
import { findPlace, isInside, realDirectory } from "./confine.ts";

/** Maximum number of paths of one action that are resolved. An action with more is not understood. */
const MAX_PATHS = 5_000;

/** Inspects the action of a session in `directory`. Never rejects: an action that cannot be inspected is opaque. */
export async function inspectAction(action: RequestedAction, directory: string): Promise<Inspection> {
  try {
    const root = await realDirectory(directory);
    if (action.kind === "command") return await inspectCommand(action, root);
    if (action.kind !== "paths") return { commands: [], paths: [], opaque: null };
    const candidates = action.paths.map((written) => ({ written, access: action.access, certain: true, folders: [] }));
    return { commands: [], ...(await resolvePaths(candidates, { root, base: root })) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { commands: [], paths: [], opaque: `it could not be inspected: ${why}` };
  }
}

async function inspectCommand(
  { command, directory }: Extract<RequestedAction, { kind: "command" }>,
  root: string,
): Promise<Inspection> {
  const parsed = parseShellCommand(command);
  const base = directory === undefined ? root : (await findPlace(root, directory)).path;
  const own = base === root ? [] : [{ written: base, access: "read" as const, certain: true, folders: [] }];
  const { paths, opaque } = await resolvePaths([...own, ...parsed.paths], { root, base });
  return { commands: parsed.commands, paths, opaque: parsed.opaque ?? opaque };
}

interface Resolved {
  readonly paths: readonly InspectedPath[];
  readonly opaque: string | null;
}

async function resolvePaths(
  candidates: readonly CandidatePath[],
  { root, base }: { readonly root: string; readonly base: string },
): Promise<Resolved> {
  if (candidates.length > MAX_PATHS) return { paths: [], opaque: "it names too many paths" };
  const found = new Map<string, InspectedPath>();
  for (const { written, access, certain, folders } of candidates) {
    const bases = await foldersAfter(base, folders);
    if (bases.length > MAX_FOLDERS) return { paths: [], opaque: "it changes its folder through too many links" };
    for (const from of bases) {
      const { path, written: full } = await findPlace(from, written);
      if (harmlessDevices.has(path) || (!certain && !(await exists(full)))) continue;
      const surroundings = { directory: from, home: homedir() };
      const protects = runsCode(path, surroundings) || runsCode(full, surroundings);
      const inside = isInside({ directory: root, path });
      found.set(`${access} ${path} ${written}`, { written, path, inside, access, runsCode: protects });
    }
  }
  return { paths: [...found.values()], opaque: null };
}

/** Maximum number of folders in which a path of a command may be. */
const MAX_FOLDERS = 8;

/** The folders in which a shell may be after `cd`: with `..` behind a link, the options and the shell decide which. */
async function foldersAfter(base: string, folders: readonly string[]): Promise<readonly string[]> {
  let current = [base];
  for (const folder of folders.slice(0, MAX_FOLDERS)) {
    const next = new Set<string>();
    for (const from of current) {
      const { path, written } = await findPlace(from, folder);
      next.add(path).add((await findPlace(from, resolve(written))).path);
    }
    current = [...next];
  }
  return current;
}

const harmlessDevices: ReadonlySet<string> = new Set([
  "/dev/null",
  "/dev/stdin",
  "/dev/stdout",
  "/dev/stderr",
  "/dev/zero",
]);

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

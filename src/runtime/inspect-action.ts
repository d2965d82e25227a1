/** Inspects a requested action for the rule engine: parses the command and resolves the real paths it names. */
import { lstat } from "node:fs/promises";
import { homedir } from "node:os";
import type { InspectedPath, Inspection, RequestedAction } from "../permissions/inspection.ts";
import { runsCode } from "../permissions/protected-files.ts";
import { type CandidatePath, parseShellCommand } from "../permissions/shell-command.ts";
import { findPlace, realDirectory } from "./confine.ts";

/** Maximum number of paths of one action that are resolved. An action with more is not understood. */
const MAX_PATHS = 1_000;

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
  for (const { written, access, certain } of candidates) {
    const { path, written: full, inside } = await findPlace(root, written);
    if (harmlessDevices.has(path) || (!certain && !(await exists(full)))) continue;
    const surroundings = { directory: base, home: homedir() };
    const protects = runsCode(path, surroundings) || runsCode(full, surroundings);
    found.set(`${access} ${path} ${written}`, { written, path, inside, access, runsCode: protects });
  }
  return { paths: [...found.values()], opaque: null };
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

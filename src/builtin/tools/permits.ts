/** The permissions that tools request: for a path, for a place outside the folder, for a command. */

import { homedir } from "node:os";
import { dirname } from "node:path";
import { defined } from "../../core/defined.ts";
import type { InspectedPath } from "../../permissions/inspection.ts";
import { runsCode } from "../../permissions/protected-files.ts";
import { pathSubject } from "../../permissions/rules.ts";
import { coversAction, exactScope, type RememberedScope } from "../../permissions/scopes.ts";
import { findPlace, isInside, type Place } from "../../runtime/confine.ts";
import { inspectAction } from "../../runtime/inspect-action.ts";
import { judge, judgeCommand, type TextRequest, type Verdict } from "../permission/policy.ts";
import { type Permit, type ToolContext, ToolFailure } from "./tool.ts";

export interface PathRequest {
  readonly written: string;
  readonly action: "read" | "edit" | "glob" | "grep" | "list";
  readonly tool: string;
}

/** Resolves a path and gets permission for a place outside the folder. The action itself is requested separately. */
export async function enter(context: ToolContext, { written, ...request }: PathRequest): Promise<Place> {
  const place = await findPlace(context.directory, written);
  if (context.view.hides(place.path)) throw new ToolFailure(`${place.shown} is one of Franca's own files: no access.`);
  if (place.inside || isKept(context, place)) return place;
  // A rule that denies the action comes first, because then no request is needed.
  const own = pathPermit(context, { place, ...request, metadata: {} });
  await context.permit({ ...own, judge: (policy) => unlessDenied(own.judge(policy)) });
  await context.permit(outsidePermit(place.path));
  return place;
}

const unlessDenied = (verdict: Verdict): Verdict =>
  verdict.action === "deny" ? verdict : { action: "allow", reason: "it is requested later", rule: null };

/** Whether the file is one of the session's own kept outputs. */
const isKept = ({ outputDirectory }: ToolContext, { path }: Place): boolean =>
  isInside({ directory: outputDirectory, path });

export function outsidePermit(path: string): Permit {
  return {
    action: "external_directory",
    judge: (policy) => judge(policy, { names: ["external_directory"], texts: [path] }),
    patterns: [path],
    always: [{ action: "external_directory", pattern: path }],
    metadata: { filepath: path, parentDir: dirname(path) },
  };
}

/** Gets permission for a path. The session's own kept outputs can be read without a rule. */
export async function permitPath(context: ToolContext, request: PlaceRequest): Promise<void> {
  if (request.action === "read" && isKept(context, request.place)) return;
  await context.permit(pathPermit(context, request));
}

interface PlaceRequest extends Omit<PathRequest, "written"> {
  readonly place: Place;
  readonly metadata?: Permit["metadata"];
}

function pathPermit(context: ToolContext, { place, action, tool, metadata = {} }: PlaceRequest): Permit {
  const guarded = guardOf(context, { place, action });
  const names = action === tool ? [action] : [action, tool];
  const request: TextRequest = { ...pathSubject(place, { names, directory: context.directory }), guarded };
  return {
    action,
    judge: (policy) => judge(policy, request),
    patterns: [place.shown],
    // A guarded file is asked about every time.
    always: guarded === null ? [{ action, pattern: place.path }] : [],
    metadata: { filepath: place.path, ...metadata, ...defined({ guarded: guarded ?? undefined }) },
  };
}

const RUNS_CODE = "this file can run code by itself";
const OWN_DATA = "it is in Franca's own data folder";

/** Returns why the user is asked about the place in any case, or null when the rules decide. */
function guardOf(
  { directory, dataDirectory }: ToolContext,
  { place, action }: { place: Place; action: PathRequest["action"] },
): string | null {
  const { path, written } = place;
  const surroundings = { directory, home: homedir() };
  // A link may have the harmless name, or its target.
  if (action === "edit" && (runsCode(path, surroundings) || runsCode(written, surroundings))) return RUNS_CODE;
  const searches = action === "glob" || action === "grep" || action === "list";
  return isOwnData(dataDirectory, { path, searches }) ? OWN_DATA : null;
}

/** Whether the path is in Franca's data folder. A search also finds it below the path. */
const isOwnData = (
  dataDirectory: string | null,
  { path, searches }: { readonly path: string; readonly searches: boolean },
): boolean =>
  dataDirectory !== null &&
  (isInside({ directory: dataDirectory, path }) || (searches && isInside({ directory: path, path: dataDirectory })));

function guardOfPath({ dataDirectory }: ToolContext, { path, runsCode: runs }: InspectedPath): string | null {
  if (runs) return RUNS_CODE;
  return isOwnData(dataDirectory, { path, searches: false }) ? OWN_DATA : null;
}

/** Gets permission for a command. If a rule allows it, places outside that it names are requested separately. */
export async function permitCommand(context: ToolContext, command: string): Promise<void> {
  const { directory } = context;
  const inspection = await inspectAction({ kind: "command", command }, directory);
  const action = { kind: "command", command } as const;
  const scoped = { names: ["bash"], action, inspection, directory };
  const guarded = inspection.paths.map((path) => guardOfPath(context, path)).find((why) => why !== null) ?? null;
  const outside = [...new Set(inspection.paths.filter(({ inside }) => !inside).map(({ path }) => path))];
  const inside = { ...inspection, paths: inspection.paths.filter((path) => path.inside) };
  let isConfirmed = false;
  await context.permit({
    action: "bash",
    judge: (policy) => {
      const verdict = judgeCommand(policy, { command, inspection: inside, directory, guarded });
      isConfirmed = verdict.action === "ask" || coversAction(policy.remembered, scoped);
      return verdict;
    },
    patterns: [command],
    always: guarded === null ? alwaysOf(exactScope(scoped)?.remembers ?? []) : [],
    metadata: { command, outside },
  });
  for (const path of outside) {
    const permit = outsidePermit(path);
    // The user has seen the path in the command that was confirmed. A rule that denies the path still applies.
    const judgeAgain: Permit["judge"] = (policy) => {
      const verdict = permit.judge(policy);
      return isConfirmed && verdict.action === "ask"
        ? { action: "allow", reason: "the command was allowed", rule: null }
        : verdict;
    };
    await context.permit({ ...permit, judge: judgeAgain });
  }
}

const alwaysOf = (scopes: readonly RememberedScope[]): Permit["always"] =>
  scopes.map(({ permission, pattern }) => ({ action: permission, pattern }));

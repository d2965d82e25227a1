/** The permissions that tools ask for: a path, a way out of the directory, a command, a URL. */

import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { defined } from "../../core/defined.ts";
import { pathsIn } from "../../permissions/command-paths.ts";
import { runsCode } from "../../permissions/protected-files.ts";
import { findPlace, isInside, type Place } from "../../runtime/confine.ts";
import { readCommandLine } from "../permission/command-line.ts";
import { judge, judgeCommand, type Verdict, type Wish } from "../permission/permissions.ts";
import type { Permit, ToolContext } from "./tool.ts";

export interface PathWish {
  readonly written: string;
  readonly action: "read" | "edit" | "glob" | "grep" | "list";
  readonly tool: string;
}

/** Where the path leads, once the way there is allowed. What to do with it is asked separately, when it is known. */
export async function enter(context: ToolContext, { written, ...wish }: PathWish): Promise<Place> {
  const place = await findPlace(context.directory, written);
  if (place.inside || isKept(context, place)) return place;
  // Nobody is asked about the way to something that a rule forbids anyway.
  const own = pathPermit(context, { place, ...wish, metadata: {} });
  await context.permit({ ...own, judge: (law) => unlessForbidden(own.judge(law)) });
  await context.permit(outsidePermit(place.path));
  return place;
}

const unlessForbidden = (verdict: Verdict): Verdict =>
  verdict.effect === "deny" ? verdict : { effect: "allow", because: "it is asked for later" };

/** The session's own kept outputs. */
const isKept = ({ outputDirectory }: ToolContext, { path }: Place): boolean =>
  isInside({ directory: outputDirectory, path });

export function outsidePermit(path: string): Permit {
  const pattern = join(dirname(path), "*");
  return {
    action: "external_directory",
    judge: (law) => judge(law, { actions: ["external_directory"], subject: path }),
    patterns: [path],
    always: [{ action: "external_directory", pattern }],
    metadata: { filepath: path, parentDir: dirname(path) },
  };
}

/** Reading the session's own kept outputs needs no rule. */
export async function permitPath(context: ToolContext, wish: PlaceWish): Promise<void> {
  if (wish.action === "read" && isKept(context, wish.place)) return;
  await context.permit(pathPermit(context, wish));
}

interface PlaceWish extends Omit<PathWish, "written"> {
  readonly place: Place;
  readonly metadata?: Permit["metadata"];
}

function pathPermit(context: ToolContext, { place, action, tool, metadata = {} }: PlaceWish): Permit {
  const guarded = guardOf(context, { place, action });
  const wish: Wish = { actions: action === tool ? [action] : [action, tool], subject: place.shown, guarded };
  return {
    action,
    judge: (law) => judge(law, wish),
    patterns: [place.shown],
    // What is asked for every time cannot be allowed for good.
    always: guarded === null ? [{ action, pattern: "*" }] : [],
    metadata: { filepath: place.path, ...metadata, ...defined({ guarded: guarded ?? undefined }) },
  };
}

const RUNS_CODE = "this file can run code by itself";
const OWN_DATA = "it is in Franca's own data folder";

/** Why a person is asked about the place in any case; null when the rules decide. */
function guardOf(
  { directory, dataDirectory }: ToolContext,
  { place, action }: { place: Place; action: PathWish["action"] | "command" },
): string | null {
  const { path, written } = place;
  const surroundings = { directory, home: homedir() };
  const changes = action === "edit" || action === "command";
  // A link may have the harmless name, or its target.
  if (changes && (runsCode(path, surroundings) || runsCode(written, surroundings))) return RUNS_CODE;
  if (dataDirectory === null) return null;
  const searches = action === "glob" || action === "grep" || action === "list";
  const isOwn =
    isInside({ directory: dataDirectory, path }) || (searches && isInside({ directory: path, path: dataDirectory }));
  return isOwn ? OWN_DATA : null;
}

/** Two-word commands whose first word alone says little: "always" remembers both. */
const families: ReadonlySet<string> = new Set([
  "git",
  "npm",
  "npx",
  "pnpm",
  "yarn",
  "bun",
  "cargo",
  "go",
  "docker",
  "kubectl",
  "make",
  "pip",
  "python",
  "python3",
  "node",
  "deno",
  "uv",
]);

/** A command that a rule allows may still name places outside: then these are asked for by themselves. */
export async function permitCommand(context: ToolContext, command: string): Promise<void> {
  const line = readCommandLine(command);
  const places = await placesIn(context, line.words);
  const outside = [...new Set(places.filter(({ inside }) => !inside).map(({ path }) => path))];
  const guarded = places.map((place) => guardOf(context, { place, action: "command" })).find((why) => why !== null);
  let asked = false;
  await context.permit({
    action: "bash",
    judge: (law) => {
      const verdict = judgeCommand(law, command, { guarded: guarded ?? null });
      asked = verdict.effect === "ask";
      return verdict;
    },
    patterns: line.opaque ? [command] : line.commands,
    always: guarded === undefined ? patternsFor(command).map((pattern) => ({ action: "bash", pattern })) : [],
    metadata: { command, outside },
  });
  for (const path of outside) {
    const permit = outsidePermit(path);
    // Who was asked about the command has seen the path in it; a rule that forbids the path still holds.
    const judgeAgain: Permit["judge"] = (law) => {
      const verdict = permit.judge(law);
      return asked && verdict.effect === "ask" ? { effect: "allow", because: "the command was allowed" } : verdict;
    };
    await context.permit({ ...permit, judge: judgeAgain });
  }
}

/** What "always" remembers: what cannot be taken apart as it is, unless it would read as a pattern. */
function patternsFor(command: string): readonly string[] {
  const { opaque, commands } = readCommandLine(command);
  if (!opaque) return commands.map(family);
  return /[*?]/.test(command) ? [] : [command];
}

function family(command: string): string {
  const [first = "", second = ""] = command.split(" ");
  const isFamily = families.has(first) && second !== "" && !second.startsWith("-");
  return isFamily ? `${first} ${second} *` : `${first} *`;
}

/** Where the words lead when they are read as paths, symlinks resolved. */
async function placesIn(context: ToolContext, words: readonly string[]): Promise<Place[]> {
  const found = new Map<string, Place>();
  for (const written of new Set(words.flatMap(pathsIn))) {
    const place = written === "" ? null : await findPlace(context.directory, written).catch(() => null);
    if (place !== null && !harmless.has(place.path)) found.set(place.written, place);
  }
  return [...found.values()];
}

const harmless: ReadonlySet<string> = new Set(["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"]);

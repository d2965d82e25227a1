/** The permissions that tools ask for: a path, a way out of the directory, a command, a URL. */
import { dirname, join } from "node:path";
import { readCommandLine } from "../permission/command-line.ts";
import { findPlace, isInside, type Place } from "../permission/confine.ts";
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
  const own = pathPermit({ place, ...wish, metadata: {} });
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
  await context.permit(pathPermit(wish));
}

interface PlaceWish extends Omit<PathWish, "written"> {
  readonly place: Place;
  readonly metadata?: Permit["metadata"];
}

function pathPermit({ place, action, tool, metadata = {} }: PlaceWish): Permit {
  const wish: Wish = { actions: action === tool ? [action] : [action, tool], subject: place.shown };
  return {
    action,
    judge: (law) => judge(law, wish),
    patterns: [place.shown],
    always: [{ action, pattern: "*" }],
    metadata: { filepath: place.path, ...metadata },
  };
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
  const outside = await outsidePlaces(context, line.words);
  let asked = false;
  await context.permit({
    action: "bash",
    judge: (law) => {
      const verdict = judgeCommand(law, command);
      asked = verdict.effect === "ask";
      return verdict;
    },
    patterns: line.opaque ? [command] : line.commands,
    always: patternsFor(command).map((pattern) => ({ action: "bash", pattern })),
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

/** Words that lead outside when they are read as paths, symlinks resolved. */
async function outsidePlaces(context: ToolContext, words: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const word of words) {
    for (const written of pathsIn(word).filter((one) => one !== "")) {
      const place = await findPlace(context.directory, written).catch(() => null);
      if (place !== null && !place.inside && !harmless.has(place.path)) found.add(place.path);
    }
  }
  return [...found];
}

const harmless: ReadonlySet<string> = new Set(["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"]);

/** Also inside `--option=path`, `-Cpath`, `a:b` and after redirections. */
function pathsIn(word: string): string[] {
  if (word.includes("://")) return [];
  return [word, ...word.split(/[=:,]/)].flatMap((part) => {
    const bare = part.replace(/^[<>&\d@]+/, "");
    return bare.startsWith("-") ? [bare, bare.replace(/^--?[a-z]?/i, "")] : [bare];
  });
}

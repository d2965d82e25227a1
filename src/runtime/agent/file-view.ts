/**
 * The view of the file system in which agents and their commands run: without the data folder, and without files that
 * hold the token or the database URL. The program that makes it (`view-program.ts`) also keeps agents from reading the
 * daemon's memory, environment and open files in `/proc`.
 */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import type { Capabilities } from "../../core/capabilities.ts";
import type { ProgramStart, StartInView } from "../../core/in-process.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { HideDataState } from "../../protocol/resources.ts";
import { isInside } from "../confine.ts";
import { folderName } from "../folder-name.ts";
import { findViewProgram, type HiddenPlaces, isExecutable, programIn, type ViewProgram } from "./view-program.ts";

export type HideData = "auto" | "require" | "off";

export interface FileViewOptions {
  readonly mode: HideData;
  /** The data folder. */
  readonly folder: string;
  /** Files elsewhere that hold the token or the database URL. */
  readonly files: readonly string[];
  /** Where agents are installed: they are started from there. */
  readonly tools: string;
  /** Files that came with prompts, and long outputs of tools: a folder in each for every session. */
  readonly attachments: string;
  readonly outputs: string;
}

export interface FileView {
  /** Whether processes of the agent run in the view, with the reason if they do not. */
  readonly stateFor: (agent: ViewedAgent) => Promise<HideDataState>;
  /** Throws if the view is required and the agent's processes cannot run in it. */
  readonly check: (agent: ViewedAgent) => Promise<void>;
  readonly open: (session: ViewedSession) => SessionView;
}

export type ViewedAgent = { readonly name: string; readonly capabilities: Pick<Capabilities, "ownSandbox"> };

export interface ViewedSession {
  readonly session: string;
  readonly agent: ViewedAgent;
  /** Its process serves other sessions too, so the files of all sessions are visible. */
  readonly shared: boolean;
}

export interface SessionView {
  /** The command line that starts a program in the view; unchanged if the view is off. */
  readonly start: (program: ProgramStart) => Promise<StartInView>;
  /** Whether the view hides a path, which must be free of links. */
  readonly hides: (path: string) => boolean;
}

/** For runtimes without a data folder: every program starts as it is. */
export const fullView: SessionView = {
  start: async (program) => ({ ...program, wrapped: false }),
  hides: () => false,
};

export const noFileView: FileView = {
  stateFor: async () => ({ active: false, reason: "This runtime has no data folder." }),
  check: async () => {},
  open: () => fullView,
};

export function openFileView(options: FileViewOptions): FileView {
  const stateFor = async (agent: ViewedAgent): Promise<HideDataState> => {
    const found = await programFor(options, agent);
    return "reason" in found ? { active: false, reason: found.reason } : { active: true };
  };
  return {
    stateFor,
    async check(agent) {
      if (options.mode === "require") refuse(agent, await stateFor(agent));
    },
    open(session) {
      let known: HiddenPlaces | null = null;
      const places = (): HiddenPlaces => {
        known ??= placesOf(options, session);
        return known;
      };
      return {
        start: (program) => startInView(options, { agent: session.agent, places: places(), program }),
        hides: (path) => options.mode !== "off" && isHidden(places(), path),
      };
    },
  };
}

function refuse({ name }: ViewedAgent, { active, reason }: HideDataState): void {
  if (active) return;
  throw new ApiError(
    "not_supported",
    `--hide-data require: the data folder cannot be hidden from ${name}. ${reason} ` +
      "Fix this, or start Franca with --hide-data auto.",
  );
}

type Found = { readonly program: ViewProgram } | { readonly reason: string };

async function programFor({ mode }: FileViewOptions, { name, capabilities }: ViewedAgent): Promise<Found> {
  if (mode === "off") return { reason: "It is turned off (--hide-data off)." };
  const found = await findViewProgram();
  if ("reason" in found || found.program.nests || capabilities.ownSandbox !== true) return found;
  return { reason: `${name} has a sandbox of its own, which does not start inside another one on this system.` };
}

interface Starting {
  readonly agent: ViewedAgent;
  readonly places: HiddenPlaces;
  readonly program: ProgramStart;
}

async function startInView(options: FileViewOptions, { agent, places, program }: Starting): Promise<StartInView> {
  const found = await programFor(options, agent);
  if ("reason" in found) {
    if (options.mode === "require") refuse(agent, { active: false, reason: found.reason });
    return { ...program, wrapped: false };
  }
  // A program that does not exist fails to start as it would outside the view, with the same error.
  if (!isProgram(program)) return { ...program, wrapped: false };
  const directory = realPathOf(program.directory);
  if (isHidden(places, directory)) {
    throw new ApiError(
      "invalid_request",
      `${directory} is in Franca's data folder, which agents cannot see. Choose another directory.`,
    );
  }
  // A folder that is made later would not be visible to a process that runs already.
  if (existsSync(places.hiddenFolder)) for (const folder of places.readable) mkdirSync(folder, PRIVATE);
  return { ...program, ...found.program.commandLine(places, program), wrapped: found.program.wraps };
}

const PRIVATE = { recursive: true, mode: 0o700 } as const;

function placesOf(options: FileViewOptions, { session, shared }: ViewedSession): HiddenPlaces {
  const hiddenFolder = realPathOf(options.folder);
  const name = folderName(session);
  const { attachments, outputs, tools } = options;
  const own = shared ? [attachments, outputs] : [join(attachments, name), join(outputs, name)];
  const isIn = (path: string): boolean => isInside({ directory: hiddenFolder, path });
  return {
    hiddenFolder,
    hiddenFiles: options.files.map(realPathOf).filter((path) => !isIn(path)),
    readable: [tools, ...own].map(realPathOf).filter((path) => isIn(path) && path !== hiddenFolder),
  };
}

function isHidden({ hiddenFolder, hiddenFiles, readable }: HiddenPlaces, path: string): boolean {
  if (hiddenFiles.includes(path)) return true;
  return isInside({ directory: hiddenFolder, path }) && !readable.some((directory) => isInside({ directory, path }));
}

/** Resolves the links of the part that exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}

/** Whether the system will find the program. */
function isProgram({ command, directory, path }: ProgramStart): boolean {
  if (!command.includes("/")) return programIn(path, command) !== null;
  return isExecutable(isAbsolute(command) ? command : join(directory, command));
}

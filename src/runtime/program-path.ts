/**
 * Where programs are looked for. Never among a project's own: npm puts `node_modules/.bin` of the folder it is called
 * in on PATH, and a relative entry means the folder of the day, so who wrote that folder would choose what runs.
 */
import { delimiter, isAbsolute } from "node:path";

export const programFolders = (path: string | undefined): string[] =>
  (path ?? "").split(delimiter).filter((folder) => isAbsolute(folder) && !isProjects(folder));

export const programPath = (path: string | undefined): string => programFolders(path).join(delimiter);

const isProjects = (folder: string): boolean => /(^|\/)node_modules\/\.bin\/*$/.test(folder);

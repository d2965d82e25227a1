/** Where each agent's folder is: below the home folder, or where a variable of the environment says. */
import { isAbsolute, join } from "node:path";
import type { SessionFiles } from "../../core/session-files.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function folderOf({ place }: SessionFiles, environment: Environment): string | null {
  const named = place.variable === undefined ? undefined : environment[place.variable.name];
  if (place.variable !== undefined && named !== undefined && isAbsolute(named)) {
    return join(named, place.variable.below);
  }
  const home = environment.HOME;
  return home === undefined || !isAbsolute(home) ? null : join(home, place.home);
}

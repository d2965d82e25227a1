/** Inspections without a disk: commands are parsed, and every path is what it says. For tests of the pure parts. */
import type { PermissionReport } from "../../src/core/report.ts";
import type { Inspection, PathAccess } from "../../src/permissions/inspection.ts";
import { runsCode } from "../../src/permissions/protected-files.ts";
import { parseShellCommand } from "../../src/permissions/shell-command.ts";

export function inspectPurely({ requested }: PermissionReport, directory = "/workspace"): Inspection {
  if (requested.kind === "command") {
    const { commands, paths, opaque } = parseShellCommand(requested.command);
    const certain = paths.filter((path) => path.certain);
    return { commands, paths: certain.map(({ written, access }) => pathOf({ written, access, directory })), opaque };
  }
  const named = requested.kind === "paths" ? requested.paths : [];
  const access = requested.kind === "paths" ? requested.access : "unknown";
  return { commands: [], paths: named.map((written) => pathOf({ written, access, directory })), opaque: null };
}

interface Named {
  readonly written: string;
  readonly access: PathAccess;
  readonly directory: string;
}

function pathOf({ written, access, directory }: Named): Inspection["paths"][number] {
  const path = written.startsWith("/") ? written : `${directory}/${written}`;
  const inside = path.startsWith(`${directory}/`) && !path.includes("/../");
  return { written, path, inside, access, runsCode: runsCode(path, { directory, home: null }) };
}

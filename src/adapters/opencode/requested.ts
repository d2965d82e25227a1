/**
 * The action behind a permission request of OpenCode, from the request's metadata and the input of its tool call.
 * OpenCode's own patterns are not used: they leave out redirections, assignments and whatever its parser skips.
 */
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { PathAccess, RequestedAction } from "../../permissions/inspection.ts";

interface Asked {
  readonly permission: string;
  readonly metadata: Shape;
  /** Arguments of the tool call; empty if they are not known. */
  readonly input: Shape;
}

export function requestedBy({ permission, metadata, input }: Asked): RequestedAction {
  switch (permission) {
    case "bash":
      return command({ metadata, input }) ?? { kind: "unknown" };
    case "edit":
      return files({ metadata, input }, "write");
    case "read":
      return files({ metadata, input }, "read");
    case "webfetch": {
      const url = metadata.url ?? input.url;
      return isString(url) ? { kind: "url", url } : { kind: "unknown" };
    }
    case "external_directory":
      return command({ metadata, input }) ?? files({ metadata, input }, "unknown");
    default:
      return { kind: "tool" };
  }
}

function command({ metadata, input }: Omit<Asked, "permission">): RequestedAction | null {
  const line = input.command ?? metadata.command;
  if (!isString(line)) return null;
  return { kind: "command", command: line, ...(isString(input.workdir) ? { directory: input.workdir } : {}) };
}

/** A patch lists its files in the metadata; every other tool names one. */
function files({ metadata, input }: Omit<Asked, "permission">, access: PathAccess): RequestedAction {
  const listed = Array.isArray(metadata.files) ? metadata.files.map(shapeOf) : [];
  const named = listed.length > 0 ? [] : [input.filePath ?? input.path ?? metadata.filepath];
  const paths = [...named, ...listed.flatMap(({ filePath, movePath }) => [filePath, movePath])].filter(isString);
  return paths.length === 0 ? { kind: "unknown" } : { kind: "paths", access, paths };
}

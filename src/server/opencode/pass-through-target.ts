/** Where a request goes on OpenCode's server: made from the operation's own path, never from the client's. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { isShape } from "../../dialects/shape.ts";
import { ApiError } from "../../protocol/errors.ts";
import type { OpenCodeCall } from "./route.ts";

type Named = Pick<OpenCodeCall, "params" | "query" | "directory">;

const SEGMENT = /^[\w.@:+-]{1,200}$/;

/** The path with its parameters filled in, and the query without what says who and where. */
export function targetOf({ params, query, directory }: Named, path: string): string {
  const filled = path
    .split("/")
    .map((segment) => {
      const [, name] = /^\{(\w+)\}$/.exec(segment) ?? [];
      return name === undefined ? segment : encodeURIComponent(checked(params[name] ?? ""));
    })
    .join("/");
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (!isPlace(name)) search.append(name, value);
  search.append(path.startsWith("/api/") ? "location[directory]" : "directory", directory);
  return `${filled}?${search}`;
}

function checked(value: string): string {
  if (SEGMENT.test(value) && !/^\.+$/.test(value)) return value;
  throw new ApiError("invalid_request", `${JSON.stringify(value.slice(0, 100))} is no name that a path may hold.`);
}

const isPlace = (name: string): boolean =>
  name === "directory" || name === "workspace" || name.startsWith("location") || name.startsWith("auth");

/** The directory without links; refused unless a person trusts it. */
export function trustedDirectory({ directory, sessions }: Pick<OpenCodeCall, "directory" | "sessions">): string {
  const real = realPath(directory);
  if (real !== null && sessions.trust.isTrusted(real)) return real;
  throw new ApiError(
    "folder_not_trusted",
    `${directory} is not trusted, so OpenCode's server does not work there: franca trust add ${directory}`,
  );
}

/** Directories that a body names are held to the same. */
export function checkBody(body: unknown, { directory, sessions }: Pick<OpenCodeCall, "directory" | "sessions">): void {
  if (!isShape(body)) return;
  const { location } = body;
  const places = [body.directory, body.cwd, isShape(location) ? location.directory : undefined];
  for (const place of places) {
    if (typeof place !== "string" || place === "") continue;
    trustedDirectory({ directory: resolve(directory, place), sessions });
  }
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Files of the session's directory in the newer API, for the `@` of OpenCode's TUI on any agent. */
import { join, relative } from "node:path";
import { ApiError } from "../../protocol/errors.ts";
import { decoded } from "../http/request.ts";
import { bytesOf, entriesOf, foundFiles } from "./files.ts";
import type { OpenCodeAnswer, OpenCodeCall, OpenCodeRoute } from "./route.ts";
import { located } from "./server-info.ts";

export const nextFileRoutes: readonly OpenCodeRoute[] = [
  {
    method: "GET",
    path: "/api/fs/find",
    action: "read",
    partial: "Ranked otherwise than OpenCode does.",
    handle: find,
  },
  { method: "GET", path: "/api/fs/list", action: "read", handle: list },
  {
    method: "GET",
    path: "/api/fs/read/*",
    action: "read",
    partial: "Up to 2 MiB; a browser shows it as text or as a picture, never as a page.",
    handle: read,
  },
];

interface Found {
  readonly path: string;
  readonly isFolder: boolean;
}

const shown = ({ path, isFolder }: Found) => ({
  path: isFolder ? `${path}/` : path,
  type: isFolder ? "directory" : "file",
});

async function find(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  return located(call, (await foundFiles(call)).map(shown));
}

async function list(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { base, path, entries } = await entriesOf(call);
  const at = (name: string): string => relative(base, join(path, name));
  return located(
    call,
    entries.map(({ name, isFolder }) => shown({ path: at(name), isFolder })),
  );
}

async function read(call: OpenCodeCall): Promise<OpenCodeAnswer> {
  const { bytes, mime, isText } = await bytesOf(call, pathOf(call.rest));
  return { bytes, mime: isText ? "text/plain; charset=utf-8" : mime };
}

/** A file below the directory: each name by itself, none of them a way upwards. */
export function pathOf(rest: string): string {
  const names = rest.split("/").map(decoded);
  if (names.every((name) => name !== "" && !/^\.+$/.test(name) && !/[/\\\0]/.test(name))) return names.join("/");
  throw new ApiError(
    "invalid_request",
    "A path names files below the directory, without `..` and without encoded slashes.",
  );
}

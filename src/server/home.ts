/**
 * The inspector at `/`: static files, the same for everybody. Whatever the page shows, it asks for with a credential of
 * its own. The files are read when the first of them is asked for.
 */
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import { readInspector } from "../runtime/inspector-files.ts";
import { problemReply } from "./http/problem.ts";
import type { Reply } from "./http/reply.ts";
import type { Exchange } from "./http/router.ts";
import { noRoute, type Surface } from "./http/server.ts";

interface StaticFile {
  readonly body: Buffer;
  /** Made when the first client wants it. */
  zipped: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-cache",
};

/** Their names hold a hash of their content. */
const assetHeaders = { "cache-control": "public, max-age=31536000, immutable" };

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Franca</title></head>
<body><h1>Franca</h1><p>The daemon runs. Its inspector is not built: run <code>npm run build</code>.</p></body></html>
`;

function readFiles(): ReadonlyMap<string, StaticFile> {
  const files = readInspector() ?? new Map([["index.html", NOT_BUILT]]);
  return new Map(
    [...files].map(([name, text]) => {
      const isPage = name === "index.html";
      const type = types[extname(name)] ?? "application/octet-stream";
      const headers = { ...(isPage ? pageHeaders : assetHeaders), "content-type": type };
      return [isPage ? "/" : `/${name}`, { body: Buffer.from(text), zipped: null, headers }];
    }),
  );
}

function answer(file: StaticFile, acceptEncoding: string): Reply {
  const headers = { ...file.headers, vary: "Accept-Encoding" };
  if (!/\bgzip\b/.test(acceptEncoding)) return { status: 200, headers, body: file.body };
  file.zipped ??= gzipSync(file.body, { level: 9 });
  return { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body: file.zipped };
}

export function homeSurface(): Surface {
  let files: ReadonlyMap<string, StaticFile> | null = null;
  const find = (path: string): StaticFile | undefined => {
    files ??= readFiles();
    return files.get(path);
  };
  return {
    name: "home",
    isStatic: (path) => (path === "/" || path.startsWith("/assets/")) && find(path) !== undefined,
    mount(router) {
      const respond = ({ path, incoming }: Exchange): Reply => {
        const file = find(path);
        if (file === undefined) return problemReply(noRoute({ method: "GET", path }));
        return answer(file, String(incoming.headers["accept-encoding"] ?? ""));
      };
      router.add("GET", "/", respond);
      router.add("GET", "/assets/*", respond);
    },
  };
}

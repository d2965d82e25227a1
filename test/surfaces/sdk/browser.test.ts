/** The SDK is for browsers too: it imports nothing of Node, runs without Node's globals, and stays small. */
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("the SDK builds for the browser and runs where there is nothing of Node", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/sdk/index.ts"],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "franca",
    target: "es2022",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  expect(text).not.toMatch(/\brequire\(|\bBuffer\b/);
  expect(Object.keys(metafile.inputs).filter((path) => !/^src\/(sdk|protocol)\//.test(path))).toEqual([]);

  const asked: { url: string; authorization: string | null }[] = [];
  const fetch = async (url: string, { headers }: { headers: [string, string][] }): Promise<Response> => {
    asked.push({ url, authorization: new Headers(headers).get("authorization") });
    return Response.json({ sessions: [] });
  };
  const page = createContext({ fetch, URL, URLSearchParams, AbortController, performance });
  expect(runInContext("typeof process", page)).toBe("undefined");
  runInContext(text, page);
  const list = `franca.connect({ url: "http://127.0.0.1:7717", token: "of-the-page" }).sessions()`;
  expect(await runInContext(list, page)).toHaveLength(0);
  expect(asked).toEqual([{ url: "http://127.0.0.1:7717/v1/sessions?limit=1000", authorization: "Bearer of-the-page" }]);
});

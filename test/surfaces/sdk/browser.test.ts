/** The SDK is for browsers too: nothing of Node may be in it, nor the schemas it does not need. */
import { build } from "esbuild";
import { expect, test } from "vitest";

test("the SDK builds for the browser, with nothing of Node in it", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/sdk/index.ts"],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  expect(text).toContain("last-event-id");
  expect(text).not.toMatch(/node:|\brequire\(|\bprocess\.|\bBuffer\b/);
  expect(Object.keys(metafile.inputs).filter((path) => !/^src\/(sdk|protocol)\//.test(path))).toEqual([]);
});

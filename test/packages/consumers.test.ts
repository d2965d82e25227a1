/** From an empty folder, with the tarballs: the command, programs of every kind, and the examples of docs/sdk.md. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyFolder, francaTarball, nodes, type Place, sdkTarball } from "../support/packages.ts";

const root = join(import.meta.dirname, "..", "..");
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

interface Example {
  readonly title: string;
  readonly code: string;
  readonly output: string;
}

/** Each block of code with the output below it. */
function examples(): Example[] {
  const text = readFileSync(join(root, "docs", "sdk.md"), "utf8");
  const pattern = /^```ts\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```$/gm;
  return [...text.matchAll(pattern)].map(([whole, code = "", output = ""]) => {
    const before = text.slice(0, text.indexOf(whole));
    return { title: before.match(/^#+ (.*)$/gm)?.at(-1) ?? "", code, output };
  });
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: "ES2022",
  lib: ["ES2022", "DOM", "DOM.AsyncIterable"],
  typeRoots: [join(root, "node_modules", "@types")],
};

const compile = (place: Place, options: object, files: readonly string[]): string => {
  writeFileSync(
    join(place.folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files }),
  );
  try {
    return execFileSync(process.execPath, [tsc, "-p", place.folder], { encoding: "utf8" });
  } catch (error) {
    return error instanceof Error && "stdout" in error ? String(error.stdout) : String(error);
  }
};

describe.each(nodes)("Node %s", (node) => {
  const place = emptyFolder(node);
  const data = join(place.folder, "data");

  beforeAll(async () => {
    // Only Node 20 needs SQLite's package: the others never load it, so they work without.
    const optional = node === "20" ? [] : ["--omit=optional"];
    await place.run("npm", ["install", ...optional, francaTarball, sdkTarball]);
    expect(existsSync(join(place.folder, "node_modules", "@photostructure"))).toBe(node === "20");
  });
  afterAll(async () => {
    await place.run("npx", ["franca", "daemon", "stop", "--data", data]);
    await place.close();
  });

  test("npx franca run", async () => {
    expect(await place.run("npx", ["franca", "--version"])).toMatch(/^\d+\.\d+\.\d+/);
    expect(await place.run("npx", ["franca", "run", "--agent", "mock", "--", "echo Hello, world"])).toBe(
      "Hello, world\n",
    );
  });

  test("compiled code is kept beside the program, not in the folder for temporary files", async () => {
    const temporary = join(place.folder, "tmp");
    mkdirSync(temporary);
    for (const round of ["first", "second"]) {
      // Not by npx, which keeps its own there.
      const args = ["node_modules/franca/bin/franca.js", "run", "--agent", "mock", "--", `echo ${round}`];
      expect(await place.run("node", args, { TMPDIR: temporary })).toBe(`${round}\n`);
    }
    expect(readdirSync(temporary).filter((name) => name.includes("compile-cache"))).toEqual([]);
    const kept = join(place.folder, "node_modules", "franca", "dist", "compile-cache");
    expect(existsSync(kept)).toBe(node !== "20");
  });

  test("a CommonJS program starts the daemon and runs a prompt", async () => {
    const program = `
      const { connect } = require("@franca/sdk");
      const same = require("franca");
      (async () => {
        const franca = connect({ data: ${JSON.stringify(data)}, start: true });
        const session = await franca.create({ agent: "mock" });
        const { text, reason } = await session.run("echo from CommonJS");
        console.log(reason, text, typeof same.connect);
      })();
    `;
    writeFileSync(join(place.folder, "program.cjs"), program);
    expect(await place.run("node", ["program.cjs"])).toBe("completed from CommonJS function\n");
  });

  test("the examples of docs/sdk.md, as strict TypeScript and as programs", async () => {
    const all = examples();
    expect(all.length).toBeGreaterThanOrEqual(10);
    const names = all.map((_, index) => `example-${index}.mts`);
    for (const [index, { code }] of all.entries()) writeFileSync(join(place.folder, `example-${index}.mts`), code);
    expect(compile(place, { module: "NodeNext", types: ["node"] }, names)).toBe("");
    for (const [index, { title, output }] of all.entries()) {
      const printed = await place.run("node", [`example-${index}.mjs`], { FRANCA_DATA: data });
      expect({ title, printed }).toEqual({ title, printed: output });
    }
  });

  test("types are found from CommonJS and by bundlers, without types of Node", () => {
    const program = `
      import { connect, type RunResult, type UniversalEvent } from "@franca/sdk";
      import { connect as same } from "franca";
      export async function main(): Promise<RunResult> {
        const session = await connect({ url: "http://127.0.0.1:7717" }).create({ agent: "claude", permissionMode: "plan" });
        const seen: UniversalEvent["type"][] = [];
        for await (const event of same().session(session.id).events({ after: 0 })) {
          if (event.type === "item.completed") for (const part of event.data.item.content) if (part.type === "text") part.text.trim();
          seen.push(event.type);
        }
        // @ts-expect-error There is no such permission mode.
        await connect().create({ permissionMode: "yolo" });
        return session.run("x", { onPermission: ({ metadata }) => (metadata.deadline === null ? "once" : "reject") });
      }
    `;
    writeFileSync(join(place.folder, "consumer.cts"), program);
    writeFileSync(join(place.folder, "consumer.ts"), program);
    expect(compile(place, { module: "Node16", types: [] }, ["consumer.cts"])).toBe("");
    expect(
      compile(place, { module: "ESNext", moduleResolution: "Bundler", types: [], noEmit: true }, ["consumer.ts"]),
    ).toBe("");
  });

  test("providers of models are loaded by the builtin agent only", async () => {
    for (const name of ["ai", "@ai-sdk", "jiti"]) {
      rmSync(join(place.folder, "node_modules", name), { recursive: true });
    }
    expect(await place.run("npx", ["franca", "run", "--agent", "mock", "--", "echo still here"])).toBe("still here\n");
  });
});

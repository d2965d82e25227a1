/** A copy of this project that a test may add to, built apart from the checkout. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "./folders.ts";
import { root } from "./transcripts.ts";

export interface CopiedProject {
  readonly add: (path: string, text: string) => void;
  /** Replaces a text that must stand in the file once. */
  readonly edit: (path: string, change: { readonly from: string; readonly to: string }) => void;
  /** Builds it; gives the program. */
  readonly build: () => string;
}

export function copyProject(): CopiedProject {
  const folder = temporaryFolder();
  for (const name of ["src", "web", "bin", "scripts", "package.json"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return {
    add(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { flag: "wx" });
    },
    edit(path, { from, to }) {
      const parts = readFileSync(join(folder, path), "utf8").split(from);
      if (parts.length !== 2) throw new Error(`${path} has ${parts.length - 1} times ${from}`);
      writeFileSync(join(folder, path), parts.join(to));
    },
    build() {
      execFileSync(process.execPath, [join(folder, "scripts", "build.js"), "--no-types"], { stdio: "pipe" });
      return join(folder, "bin", "franca.js");
    },
  };
}

/** Starts test/support/owner.ts as a process of its own, so that a test can kill it without killing itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
// Inside the project, so that the bundle finds the project's dependencies.
const folder = join(root, "node_modules", ".cache", "franca-test");

/** Bundled once a test file: Node 20 runs no TypeScript. */
export async function bundleOwner(): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `owner-${process.pid}.mjs`);
  await build({
    entryPoints: [join(root, "test", "support", "owner.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile,
    logLevel: "error",
  });
  return outfile;
}

export type Report =
  | { type: "ready" }
  | { type: "created"; session: string }
  | { type: "prompted"; session: string; promptId: string }
  | { type: "published"; session: string; first: number; last: number }
  | { type: "failed"; message: string };

export interface OwnerProcess {
  readonly child: ChildProcess;
  readonly order: (order: object) => void;
  /** Everything it reported so far. */
  readonly reports: readonly Report[];
  /** Resolves with the first report, past or to come, that fits. */
  readonly until: (fits: (report: Report) => boolean) => Promise<Report>;
  /** Dead, without a chance to do anything about it. */
  readonly kill: () => Promise<void>;
  readonly exited: Promise<void>;
}

export function startOwner(bundle: string, dataFolder: string, role = "daemon"): OwnerProcess {
  const child = spawn(process.execPath, [bundle, dataFolder, role], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, FAKE_AGENT: join(root, "test", "support", "fake-agent.js") },
  });
  const reports: Report[] = [];
  const waiting = new Set<() => void>();
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    reports.push(JSON.parse(line));
    for (const look of [...waiting]) look();
  });
  child.stdin.on("error", () => {});
  return {
    child,
    reports,
    exited,
    order: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const failed = reports.find((report) => report.type === "failed");
          const found = reports.find(fits);
          if (found !== undefined) resolve(found);
          else if (failed?.type === "failed") reject(new Error(failed.message));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The models of agents: a list from the adapter, or what the agent's program prints; bounded, and asked seldom. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import type { Adapter } from "../../core/adapter.ts";
import type { ModelSource } from "../../core/capabilities.ts";
import type { ModelSummary } from "../../protocol/resources.ts";
import type { Logger } from "../logger.ts";
import type { Binaries } from "./binaries.ts";

/** The first run of a fresh installation may set up a database first. */
const PRINT_MS = 30_000;
const PRINT_BYTES = 16 * 1024 * 1024;
/** What a program offers changes with its configuration and logins, so it is asked again. */
const FRESH_MS = 300_000;
/** A program that failed may have been busy or half installed. */
const FAILED_MS = 15_000;

export interface ModelsOptions {
  /** The program gets what the agent's processes get, so that it finds the same configuration and keys. */
  readonly binaries: Pick<Binaries, "find" | "environment">;
  readonly directory: string;
  readonly logger: Logger;
}

export interface Models {
  /** Empty when the program is absent, fails or takes too long. */
  readonly of: (adapter: Adapter, source: ModelSource) => Promise<readonly ModelSummary[]>;
  /** Ends programs that are still printing. */
  readonly close: () => void;
}

interface Asked {
  readonly models: Promise<readonly ModelSummary[]>;
  staleAt: number;
}

export function openModels(options: ModelsOptions): Models {
  const closing = new AbortController();
  const asked = new Map<string, Asked>();
  return {
    async of(adapter, source) {
      if (source.kind === "list") return source.models;
      const path = options.binaries.find(adapter);
      if (path === null) return [];
      const key = `${path}\0${statSync(path, { throwIfNoEntry: false })?.mtimeMs}`;
      const known = asked.get(key);
      if (known !== undefined && known.staleAt > performance.now()) return known.models;
      const models = print(path, {
        args: source.args,
        environment: options.binaries.environment(adapter),
        directory: options.directory,
        signal: closing.signal,
      }).then(source.parse);
      const entry: Asked = { models: models.catch(() => []), staleAt: performance.now() + FRESH_MS };
      asked.set(key, entry);
      models.catch((error: unknown) => {
        entry.staleAt = performance.now() + FAILED_MS;
        if (!closing.signal.aborted) options.logger.warn("models.not_listed", { agent: adapter.agent, error });
      });
      return entry.models;
    },
    close: () => closing.abort(),
  };
}

interface Printing {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly signal: AbortSignal;
}

function print(path: string, { args, environment, directory, signal }: Printing): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      path,
      [...args],
      {
        env: environment,
        cwd: directory,
        signal,
        timeout: PRINT_MS,
        // One that hangs may be deaf to a request to end.
        killSignal: "SIGKILL",
        maxBuffer: PRINT_BYTES,
        encoding: "utf8",
      },
      (error, output) => (error === null ? resolve(output) : reject(error)),
    );
    child.stdin?.end();
  });
}

/** Every guard of every dialect, with the agent whose lines it is about. */
import * as acp from "../../../src/dialects/acp-guard.ts";
import * as amp from "../../../src/dialects/amp.ts";
import * as builtin from "../../../src/dialects/builtin.ts";
import * as claude from "../../../src/dialects/claude-guard.ts";
import * as codex from "../../../src/dialects/codex.ts";
import * as codexExec from "../../../src/dialects/codex-exec.ts";
import * as codexItems from "../../../src/dialects/codex-items.ts";
import * as mock from "../../../src/dialects/mock.ts";
import * as opencodeRun from "../../../src/dialects/opencode-run.ts";
import * as opencode from "../../../src/dialects/opencode-stream.ts";
import * as takopi from "../../../src/dialects/takopi.ts";

type Guard = (value: unknown) => unknown;

export interface Dialect {
  readonly agent: string;
  readonly guards: readonly { readonly name: string; readonly guard: Guard }[];
}

/** One is asked only about lines that another has let through. */
const AFTER_ANOTHER = "isBuiltinHeard";

const isGuard = (name: string, value: unknown): value is Guard =>
  /^is[A-Z]/.test(name) && typeof value === "function" && name !== AFTER_ANOTHER;

const guardsIn = (module: object): Dialect["guards"] =>
  Object.entries<unknown>({ ...module }).flatMap(([name, guard]) => (isGuard(name, guard) ? [{ name, guard }] : []));

export const dialects: readonly Dialect[] = Object.entries({
  acp,
  amp,
  builtin,
  claude,
  codex: { ...codex, ...codexItems },
  "codex-exec": codexExec,
  mock,
  opencode,
  "opencode-run": opencodeRun,
  takopi,
}).map(([agent, module]) => ({ agent, guards: guardsIn(module) }));

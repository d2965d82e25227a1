/** Loads plugins and runs their hooks. A plugin that throws, hangs or returns invalid data is reported and skipped. */
import { createJiti } from "jiti";
import {
  type Hook,
  type HookInput,
  type HookName,
  type HookOutput,
  hookNames,
  type Plugin,
  type PluginContext,
} from "./hooks.ts";
import { notify } from "./notify.ts";
import { todoContinuation } from "./todo-continuation.ts";

export type { HookInput, HookName, HookOutput, PluginContext } from "./hooks.ts";

/** How long one hook of one plugin may take. */
export const HOOK_MS = 5_000;

/** `plugins` of the config: a path, a package, or either with options. */
export type PluginEntry = string | readonly [string, Readonly<Record<string, unknown>>];

export interface PluginFailure {
  readonly plugin: string;
  readonly hook: HookName | "load";
  readonly message: string;
  /** The session at hand, where the hook was about one. */
  readonly sessionID: string | null;
}

export interface Plugins {
  readonly names: readonly string[];
  readonly has: (hook: HookName) => boolean;
  /** Runs the hook of every plugin, in order, each on what the one before left. Never throws. */
  readonly trigger: <Name extends HookName>(
    hook: Name,
    input: HookInput<Name>,
    output: HookOutput<Name>,
  ) => Promise<HookOutput<Name>>;
  /** The same for one plugin at a time, with its name: for hooks whose answers are kept apart. */
  readonly each: <Name extends HookName>(
    hook: Name,
    input: HookInput<Name>,
    output: () => HookOutput<Name>,
  ) => Promise<readonly { readonly plugin: string; readonly output: HookOutput<Name> }[]>;
}

export interface LoadPlugins {
  readonly entries: readonly PluginEntry[];
  /** The folder of the config file: paths and packages are found from there. */
  readonly base: string;
  readonly context: PluginContext;
  readonly report: (failure: PluginFailure) => void;
  /** Hooks that Franca does not have and will never run, named once for each plugin. */
  readonly onUnknownHooks?: (unknown: { readonly plugin: string; readonly hooks: readonly string[] }) => void;
  readonly hookMs?: number;
}

interface Loaded {
  readonly name: string;
  readonly hooks: ReadonlyMap<HookName, Hook>;
}

const shipped: Readonly<Record<string, Plugin>> = { "todo-continuation": todoContinuation, notify };

export async function loadPlugins(options: LoadPlugins): Promise<Plugins> {
  const { entries, base, context, report, hookMs = HOOK_MS } = options;
  const loaded: Loaded[] = [];
  for (const entry of entries) {
    const [name, given] = typeof entry === "string" ? [entry, {}] : entry;
    try {
      for (const plugin of await findPlugins({ name, base })) {
        const made = await within(hookMs, async () => plugin(context, given));
        const { hooks, unknown } = hooksOf(made);
        loaded.push({ name, hooks });
        if (unknown.length > 0) options.onUnknownHooks?.({ plugin: name, hooks: unknown });
      }
    } catch (cause) {
      report({ plugin: name, hook: "load", message: messageOf(cause), sessionID: null });
    }
  }
  return running({ loaded, report, hookMs });
}

function running({
  loaded,
  report,
  hookMs,
}: {
  loaded: readonly Loaded[];
  report: LoadPlugins["report"];
  hookMs: number;
}): Plugins {
  const runOne = async <Name extends HookName>(
    { name, hooks }: Loaded,
    { hook, input, output }: { hook: Name; input: HookInput<Name>; output: HookOutput<Name> },
  ): Promise<HookOutput<Name>> => {
    const run = hooks.get(hook);
    if (run === undefined) return output;
    // It works on a copy, so that a plugin that fails half-way has changed nothing.
    const copy = structuredClone(output);
    try {
      await within(hookMs, async () => run(input, copy));
      checkShape({ hook, before: output, after: copy });
      return copy;
    } catch (cause) {
      const sessionID = "sessionID" in input ? input.sessionID : null;
      report({ plugin: name, hook, message: messageOf(cause), sessionID });
      return output;
    }
  };
  return {
    names: loaded.map(({ name }) => name),
    has: (hook) => loaded.some(({ hooks }) => hooks.has(hook)),
    async trigger(hook, input, output) {
      let current = output;
      for (const plugin of loaded) current = await runOne(plugin, { hook, input, output: current });
      return current;
    },
    async each(hook, input, output) {
      const hooked = loaded.filter(({ hooks }) => hooks.has(hook));
      return await Promise.all(
        hooked.map(async (plugin) => ({
          plugin: plugin.name,
          output: await runOne(plugin, { hook, input, output: output() }),
        })),
      );
    },
  };
}

/** Every function that a module exports is a plugin, as OpenCode has it. */
async function findPlugins({ name, base }: { name: string; base: string }): Promise<Plugin[]> {
  const ours = shipped[name];
  if (ours !== undefined) return [ours];
  const jiti = createJiti(`${base}/`, { interopDefault: false });
  const module: unknown = await jiti.import(name);
  const exported = typeof module === "object" && module !== null ? Object.values(module) : [module];
  const plugins = [...new Set(exported)].filter(isPlugin);
  if (plugins.length === 0)
    throw new Error(`${name} exports no function: a plugin is an async function that returns hooks.`);
  return plugins;
}

const isPlugin = (value: unknown): value is Plugin => typeof value === "function";

interface Hooked {
  readonly hooks: ReadonlyMap<HookName, Hook>;
  readonly unknown: readonly string[];
}

/** A plugin may be written for more than us: what we have no moment for (auth, config, …) is named and left alone. */
function hooksOf(made: unknown): Hooked {
  if (typeof made !== "object" || made === null) throw new Error("It returned no hooks.");
  const hooks = new Map<HookName, Hook>();
  const unknown: string[] = [];
  for (const [name, hook] of Object.entries(made)) {
    const known = hookNames.find((one) => one === name);
    if (hook === undefined) continue;
    if (known === undefined) {
      unknown.push(name);
      continue;
    }
    if (typeof hook !== "function") throw new Error(`Its hook ${name} is not a function.`);
    hooks.set(known, (input, output) => hook(input, output));
  }
  return { hooks, unknown };
}

/** What a hook leaves must be of the kind it found. */
function checkShape({ hook, before, after }: { hook: HookName; before: unknown; after: unknown }): void {
  if (typeof before !== "object" || before === null || typeof after !== "object" || after === null) return;
  const left = new Map(Object.entries(after));
  for (const [field, value] of Object.entries(before)) {
    const now = left.get(field);
    const fits =
      value === null || typeof value === "undefined" || hook.startsWith("tool.") || typeof now === typeof value;
    if (!fits) throw new Error(`It left ${field} as ${typeof now}, where ${typeof value} is expected.`);
  }
  if (hook === "permission.ask" && !["ask", "deny", "allow"].includes(String(left.get("status")))) {
    throw new Error(`It left status as ${String(left.get("status"))}: ask, deny or allow is expected.`);
  }
  if (hook === "turn.settle") checkProposal(left.get("continue"));
}

function checkProposal(proposal: unknown): void {
  if (proposal === null || proposal === undefined) return;
  const fits =
    typeof proposal === "object" &&
    "reason" in proposal &&
    typeof proposal.reason === "string" &&
    "prompt" in proposal &&
    typeof proposal.prompt === "string";
  if (!fits) throw new Error("It left a proposal without a reason and a prompt.");
}

function within<Value>(limitMs: number, work: () => Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${limitMs} ms.`)), limitMs);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Stands where OpenCode gives plugins Bun's shell. */
export const noShell = (): never => {
  throw new Error("`$` is Bun's shell, and this is Node: use node:child_process instead.");
};

/** What an agent's adapter is: one fold for both directions, and data that says how to reach the agent. */
import { type AgentEnvironment, type Credentials, variablesOf } from "./agent-environment.ts";
import type { AdapterInput, Exit, Send } from "./agent-io.ts";
import type { Binary } from "./binary.ts";
import type { AgentMode, Capabilities, ModelSource } from "./capabilities.ts";
import type { Fold } from "./fold.ts";
import type { Launch, LaunchOptions } from "./launch.ts";
import type { Report } from "./report.ts";
import type { Route } from "./route.ts";
import type { Trial } from "./trial.ts";

export interface AdapterDefinition<Line, State> {
  readonly agent: string;
  readonly name: string;
  /** The hand-written guard over the tag and the fields we read. What it refuses becomes `agent.unparsed`. */
  readonly isNative: (value: unknown) => value is Line;
  /** Whether this line could only be this agent's: how `--from auto` recognises agents. */
  readonly recognises: (value: unknown) => boolean;
  readonly adapter: Fold<AdapterInput<Line>, Report | Send, State>;
  readonly deltas?: DeltaLines<State>;
  /** When the adapter wants a `tick`, because an answer is overdue then; null, or absent, when it waits for none. */
  readonly wakeAt?: (state: State) => number | null;
  /** Why its process ended, where the adapter knows more than the process: the sentence that users see. */
  readonly explain?: (state: State, exit: Exit) => Pick<Exit, "message" | "error_code"> | null;
  readonly launch: (options: LaunchOptions) => Launch;
  readonly capabilities: Capabilities;
  readonly binary?: Binary;
  /** Variables its processes get beside those every program needs; the variables of `credentials` are among them. */
  readonly environment?: AgentEnvironment;
  readonly credentials?: Credentials;
  readonly modes?: readonly AgentMode[];
  readonly models?: ModelSource;
  /** The command line by which its own users resume a conversation in a terminal, given its native id. */
  readonly resumeCommand?: (nativeId: string) => string;
  /**
   * The place in the agent's conversation that a line of its own stands for; null when it is none. With it the agent
   * can be resumed at an earlier place (`resume_at`).
   */
  readonly placeOf?: (line: unknown) => string | null;
  /** How `franca doctor` tries it; without it the agent is only looked at. */
  readonly trial?: Trial;
  /**
   * The agent runs or obeys something of the folder it works in (settings, hooks, plugins), so it is started otherwise
   * in one that is not trusted: `launch` gets `folder`. `lookFor` names files that it wants to know about.
   */
  readonly folder?: { readonly lookFor: readonly string[] };
  /** For connections that carry several sessions. */
  readonly route?: (line: Line) => Route;
  /** A format for `convert` only: there is nothing to launch. */
  readonly offline?: boolean;
  /** The agent that prints this format beside its own: `convert --from` that agent reads it too. */
  readonly formOf?: string;
}

/**
 * Lines of which a streaming agent writes thousands, each like the one before but for a few values. The adapter
 * promises: such a line, right after another that led to one delta and nothing else, leads to the same delta with
 * another text. It is then not parsed, and the fold does not hear it (`core/repeat.ts`).
 */
export interface DeltaLines<State> {
  /** For each kind of line the keys of the values that may vary, in the order of the line: the delta's text first. */
  readonly varying: readonly (readonly string[])[];
  /**
   * Notes what the fold would of the other values, as they are written; false when it would ignore the line. The list
   * belongs to the caller.
   */
  readonly next?: (state: State, others: readonly string[]) => boolean;
}

/** An adapter with its own types hidden, so that a table can hold them all. */
export interface Adapter {
  readonly agent: string;
  readonly name: string;
  readonly recognises: (value: unknown) => boolean;
  readonly open: () => RunningAdapter;
  readonly launch: (options: LaunchOptions) => Launch;
  readonly capabilities: Capabilities;
  readonly binary: Binary | null;
  /** Whether an environment variable belongs to this agent: its processes get it. */
  readonly ownsVariable: (name: string) => boolean;
  readonly credentials: Credentials | null;
  readonly modes: readonly AgentMode[];
  readonly models: ModelSource | null;
  readonly resumeCommand: ((nativeId: string) => string) | null;
  readonly placeOf: ((line: unknown) => string | null) | null;
  readonly trial: Trial | null;
  readonly folder: { readonly lookFor: readonly string[] } | null;
  readonly route: ((value: unknown) => Route) | null;
  /** Keys of the values in which lines of deltas may differ (`DeltaLines`). No route depends on them. */
  readonly deltaKeys: readonly (readonly string[])[];
  readonly offline: boolean;
  readonly formOf: string | null;
}

/** Takes lines as parsed JSON of any shape; one that does not fit comes back as `unparsed`, so it never throws. */
export interface RunningAdapter {
  readonly step: (input: AdapterInput<unknown>) => readonly (Report | Send)[];
  readonly wakeAt: () => number | null;
  /** The exit with its reason, where the adapter knows it. */
  readonly explain: (exit: Exit) => Exit;
  readonly deltas: {
    readonly varying: readonly (readonly string[])[];
    readonly next: (source: string, cuts: readonly number[]) => boolean;
  } | null;
}

export function defineAdapter<Line, State>(definition: AdapterDefinition<Line, State>): Adapter {
  const { isNative, route } = definition;
  return {
    agent: definition.agent,
    name: definition.name,
    recognises: definition.recognises,
    launch: definition.launch,
    capabilities: definition.capabilities,
    binary: definition.binary ?? null,
    ownsVariable: variablesOf(definition),
    credentials: definition.credentials ?? null,
    modes: definition.modes ?? [],
    models: definition.models ?? null,
    resumeCommand: definition.resumeCommand ?? null,
    placeOf: definition.placeOf ?? null,
    trial: definition.trial ?? null,
    folder: definition.folder ?? null,
    offline: definition.offline ?? false,
    formOf: definition.formOf ?? null,
    route: route === undefined ? null : (value) => (isNative(value) ? route(value) : { thread: null }),
    deltaKeys: definition.deltas?.varying ?? [],
    open: () => openAdapter(definition),
  };
}

function openAdapter<Line, State>(definition: AdapterDefinition<Line, State>): RunningAdapter {
  const { adapter, agent, wakeAt, deltas, explain } = definition;
  const state = adapter.start();
  const others: string[] = [];
  const isKnown = (input: AdapterInput<unknown>): input is AdapterInput<Line> =>
    input.type !== "line" || definition.isNative(input.line);
  return {
    step(input) {
      if (isKnown(input)) return adapter.step(state, input);
      // What we said ourselves and the adapter does not know of is ignored.
      if (input.type !== "line" || input.from === "host") return [];
      return [unparsed({ agent, line: input.line })];
    },
    wakeAt: () => wakeAt?.(state) ?? null,
    explain: (exit) => ({ ...exit, ...explain?.(state, exit) }),
    deltas:
      deltas === undefined
        ? null
        : { varying: deltas.varying, next: (source, cuts) => deltas.next?.(state, take(others, source, cuts)) ?? true },
  };
}

/** The values behind the delta's text. The list is the same for all lines. */
function take(others: string[], source: string, cuts: readonly number[]): readonly string[] {
  others.length = cuts.length / 2 - 1;
  for (let at = 0; at < others.length; at += 1) others[at] = source.slice(cuts[2 * at + 2], cuts[2 * at + 3]);
  return others;
}

const UNPARSED_EXCERPT = 160;

function unparsed({ agent, line }: { agent: string; line: unknown }): Report {
  const text = typeof line === "string" ? line : (JSON.stringify(line) ?? "undefined");
  return {
    type: "unparsed",
    error: `Not a line of ${agent} as we know it: ${text.slice(0, UNPARSED_EXCERPT)}`,
    location: agent,
    text,
  };
}

/**
 * What a projection is: one dialect we speak, and all that anybody needs to know of it. It is defined in its own folder
 * and listed in `projections/index.ts`; commands, routes, lanes, rules and golden files follow from that list.
 */
import type { UniversalEvent } from "../protocol/events.ts";
import { type Fold, type Running, run } from "./fold.ts";
import type { Lane } from "./lanes.ts";
import type { RuleSet } from "./lint.ts";

export interface ProjectionOptions {
  /** The token that a run was asked to resume with. */
  readonly resume?: string | undefined;
}

export interface ProjectionDefinition<Out, State> {
  readonly name: string;
  readonly summary: string;
  /** `json`: every output is one line of JSON. `text`: outputs are pieces of one text. */
  readonly form: "json" | "text";
  /** What a file of this dialect is called, beside a transcript for example. */
  readonly file: string;
  /** Of a stream with several sessions: `each` has a fold of its own, or only the `first` is rendered. */
  readonly sessions: "each" | "first";
  readonly fold: (options: ProjectionOptions) => Fold<UniversalEvent, Out, State>;
  /** What `franca lint` checks. A dialect without a fixed shape has no rules. */
  readonly rules?: RuleSet;
  /** Its column in `franca lanes`. */
  readonly lane?: {
    readonly title: string;
    /** Of the width of the table; the universal column has 26. */
    readonly share: number;
    /** An output in a few words. */
    readonly summarise: (output: Out) => string;
    /** Whether the session becomes busy or idle with it. */
    readonly isEdge?: (output: Out) => boolean;
  };
  /** For readers that wait for a last output: a run has one in every case. Its exit code is 0 then. */
  readonly ending?: {
    readonly isLast: (output: Out) => boolean;
    /** The last output of a run that ended without one. */
    readonly missing: (run: { readonly agent: string; readonly problem: string | null }) => Out;
  };
}

/** A projection with its types hidden, so that a list can hold them all. */
export interface Projection {
  readonly name: string;
  readonly summary: string;
  readonly form: "json" | "text";
  readonly file: string;
  readonly open: (options?: ProjectionOptions) => Running<UniversalEvent, unknown>;
  readonly openRun: (options: ProjectionOptions & { readonly agent: string }) => RunRendering;
  readonly rules: RuleSet | null;
  readonly lane: Lane | null;
}

/** One run of `franca run`. */
export interface RunRendering {
  /** What happened before the run: it is read, and nothing is written. */
  readonly learn: (event: UniversalEvent) => void;
  readonly step: (event: UniversalEvent) => readonly unknown[];
  /** `problem`: what kept the run from its end, for people. */
  readonly end: (problem: string | null) => readonly unknown[];
  /** Whether the outputs say by themselves how the run ended. */
  readonly isConcluded: () => boolean;
}

export function defineProjection<Out, State>(definition: ProjectionDefinition<Out, State>): Projection {
  const { name, summary, form, file, rules, lane } = definition;
  const open = openerOf(definition);
  return {
    name,
    summary,
    form,
    file,
    open: (options = {}) => open(options),
    openRun: ({ agent, ...options }) => openRun(open(options), { agent, ending: definition.ending }),
    rules: rules ?? null,
    lane: lane === undefined ? null : laneOf(lane, { name, open: () => open({}) }),
  };
}

/** Outputs as they stand in a file. */
export const written = ({ form }: Pick<Projection, "form">, outputs: readonly unknown[]): string =>
  outputs.map((one) => (form === "json" ? `${JSON.stringify(one)}\n` : String(one))).join("");

type Opener<Out> = (options: ProjectionOptions) => Running<UniversalEvent, Out>;

function openerOf<Out, State>({ fold, sessions }: ProjectionDefinition<Out, State>): Opener<Out> {
  if (sessions === "first") return (options) => firstSession(run(fold(options)));
  return (options) => perSession(() => run(fold(options)));
}

function perSession<Out>(open: () => Running<UniversalEvent, Out>): Running<UniversalEvent, Out> {
  const sessions = new Map<string, Running<UniversalEvent, Out>>();
  return {
    step(event) {
      const known = sessions.get(event.session_id);
      if (known !== undefined) return known.step(event);
      const running = open();
      sessions.set(event.session_id, running);
      return running.step(event);
    },
    end: () => [...sessions.values()].flatMap((running) => [...running.end()]),
  };
}

function firstSession<Out>(running: Running<UniversalEvent, Out>): Running<UniversalEvent, Out> {
  let session: string | null = null;
  return {
    step(event) {
      session ??= event.session_id;
      return event.session_id === session ? running.step(event) : [];
    },
    end: running.end,
  };
}

interface RunOptions<Out> {
  readonly agent: string;
  readonly ending: ProjectionDefinition<Out, never>["ending"];
}

function openRun<Out>(running: Running<UniversalEvent, Out>, { agent, ending }: RunOptions<Out>): RunRendering {
  let concluded = false;
  const seen = (outputs: readonly Out[]): readonly Out[] => {
    if (ending !== undefined) concluded ||= outputs.some(ending.isLast);
    return outputs;
  };
  return {
    learn: (event) => void running.step(event),
    step: (event) => seen(running.step(event)),
    end(problem) {
      const outputs = seen(running.end());
      if (ending === undefined || concluded) return outputs;
      concluded = true;
      return [...outputs, ending.missing({ agent, problem })];
    },
    isConcluded: () => concluded,
  };
}

type LaneDefinition<Out> = NonNullable<ProjectionDefinition<Out, never>["lane"]>;

function laneOf<Out>(
  { title, share, summarise, isEdge }: LaneDefinition<Out>,
  { name, open }: { readonly name: string; readonly open: () => Running<UniversalEvent, Out> },
): Lane {
  return {
    name,
    title,
    share,
    open() {
      const running = open();
      return (event) =>
        running.step(event).map((one) => ({ text: summarise(one), isEdge: isEdge?.(one) ?? false, output: one }));
    },
  };
}

/** What the Takopi projection remembers of a run. One run is one turn. */
import type { TakopiEvent, TakopiKind, TakopiResume } from "../../dialects/takopi.ts";
import type { UniversalEvent } from "../../protocol/events.ts";

export interface TakopiOptions {
  /** The engine's name in the chat; the agent's own when absent. */
  readonly engine?: string;
  /** The token the run was asked to go on with: it is announced again, whatever the agent calls its session now. */
  readonly resume?: string | undefined;
}

export interface ActionEntry {
  readonly id: string;
  readonly kind: TakopiKind;
  readonly title: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** The call itself failed: no result will come. */
  readonly failed: boolean;
}

export interface State {
  readonly options: TakopiOptions;
  engine: string;
  agent: string;
  title: string | null;
  meta: Record<string, unknown>;
  directory: string;
  native: string | null;
  /** Null outside a run. */
  run: Run | null;
  /** Actions of this run that are not over yet, by call id. */
  readonly actions: Map<string, ActionEntry>;
  runs: number;
}

export interface Run {
  started: TakopiResume | null;
  /** Lines that were written before `started` could be. */
  readonly waiting: TakopiEvent[];
  /** Text since the last tool call, and the last text before it. */
  saying: string[];
  /** The native message the latest text belongs to. */
  message: string | null;
  said: string;
  /** Calls that are over: one whose result came first is not begun after it. */
  readonly over: Set<string>;
  /** How many notes of each sort there were, for their ids. */
  readonly counts: Map<string, number>;
}

export const start = (options: TakopiOptions): State => ({
  options,
  engine: options.engine ?? "",
  agent: "",
  title: null,
  meta: {},
  directory: "",
  native: null,
  run: null,
  actions: new Map(),
  runs: 0,
});

/** One universal event being rendered, and the lines that follow from it. */
export interface Rendering {
  readonly state: State;
  readonly event: UniversalEvent;
  readonly out: TakopiEvent[];
}

/** What the turn machine remembers: plain data, so that it can be cloned, compared and explored. */

import type { RememberedScope } from "../permissions/scopes.ts";
import type { BudgetLimits } from "../protocol/budget.ts";
import type { Prompt } from "../protocol/commands.ts";
import type {
  BackgroundWork,
  Draft,
  EndReason,
  ErrorInfo,
  Origin,
  Permission,
  QuestionRequest,
  Source,
  Todo,
  Tokens,
  TurnState,
  UsageTotal,
} from "../protocol/events.ts";
import type { ItemId, SessionId, TurnId } from "../protocol/ids.ts";
import type { ContentPart } from "../protocol/items.ts";
import type { AgentCommand } from "./agent-io.ts";
import type { Capabilities } from "./capabilities.ts";
import type { GovernorState } from "./governor.ts";
import type { Effect, TurnPolicy } from "./input.ts";
import type { Scopes } from "./remembered.ts";
import type { DeltaKind, ItemHead, PermissionReport } from "./report.ts";
import { type Books, keepBooks, type Spent } from "./spent.ts";
import { noTokens } from "./tokens.ts";

/** An event on its way to its place in the session. */
export interface Drafted {
  readonly type: "event";
  readonly draft: Draft;
  readonly turn_id: TurnId | null;
  readonly source: Source;
  readonly synthetic: boolean;
  /** Which rule of the machine made it, where it was not simply reported. */
  readonly rule: string | null;
  /** The line in which the host said it; null for what the line at hand has caused. */
  readonly line: number | null;
}

export type MachineOutput = Drafted | { readonly type: "command"; readonly command: AgentCommand } | Effect;

export interface OpenItem {
  readonly item_id: ItemId;
  readonly parent_id: ItemId | null;
  readonly head: ItemHead;
  content: readonly ContentPart[];
  /** Whether it is background work. */
  inBackground: boolean;
  /** What was said in deltas so far. */
  text: string;
  part: DeltaKind | null;
}

export interface Ledger {
  /** Open items by key, oldest first. */
  readonly open: Map<string, OpenItem>;
  /** Items of this turn and of the one before that are closed: nothing may follow about them. */
  closed: Map<string, ItemId>;
  older: Map<string, ItemId>;
  /** The item of the last delta. */
  deltaItem: OpenItem | null;
  /** Open items by the names under which background work may refer to them (`background.ts`). */
  readonly byWork: Map<string, Set<OpenItem>>;
  /** How many of the open items are tool calls or results that are not background work. */
  foregroundTools: number;
  count: number;
}

export const newTurn = ({ id, origin, startedAt }: Pick<Turn, "id" | "origin" | "startedAt">): Turn => ({
  id,
  origin,
  startedAt,
  activity: "running",
  shown: "running",
  retry: null,
  end: null,
  settleBy: null,
  limits: {},
  stop: null,
  stopAsked: false,
  failed: false,
  unsaid: null,
  madeEcho: null,
  shell: null,
});

export type OpenRequest =
  | {
      readonly type: "permission";
      readonly key: string;
      readonly deadline: number;
      readonly data: Permission;
      /** What "always" can mean. */
      readonly scopes: Scopes;
      /** The report, for rules that are decided after the request was shown. */
      readonly report?: PermissionReport;
      readonly relay?: Relay;
    }
  | {
      readonly type: "question";
      readonly key: string;
      readonly deadline: number;
      readonly data: QuestionRequest;
      readonly relay?: Relay;
    };

/** A permission request whose inspection is not finished. Clients do not see it. */
export interface HeldRequest {
  readonly report: PermissionReport;
  /** Time at which users are asked, whether or not the request was inspected. */
  readonly deadline: number;
  /** The native line that it came with. */
  readonly line: number | null;
  /** Whether it came after the agent's end signal: the agent is still working. */
  readonly afterEnd: boolean;
}

/** Where a request was asked, when that was in another session: the answer goes there. */
export interface Relay {
  readonly session_id: string;
  readonly agent: string;
  readonly request_id: string;
}

export interface Turn {
  readonly id: TurnId;
  readonly origin: Origin;
  readonly startedAt: number;
  /** What the agent says it does; `shown` is what was emitted last. */
  activity: "running" | "retrying" | "compacting";
  shown: TurnState;
  /** The retry that is waited for, or was last; `next` is when the next try comes. */
  retry: { readonly attempt: number; readonly message: string; readonly next: number } | null;
  /** The end signal that waits for open calls, or for the governor. */
  end: { readonly reason: EndReason; readonly error: ErrorInfo | null } | null;
  /** Waiting for the plugins' word until then. */
  settleBy: number | null;
  /** What its prompt may use. */
  limits: BudgetLimits;
  /** It was asked to stop: since when, and how it will have ended. The agent is stopped when it does not obey. */
  stop: { readonly at: number; readonly reason: "aborted" | "budget"; readonly error: ErrorInfo | null } | null;
  stopAsked: boolean;
  /** The fatal error of this turn has been emitted: there is only one. */
  failed: boolean;
  /** The prompt whose echo we expect, until the agent has said it or we have. */
  unsaid: Prompt | null;
  /** We said the prompt ourselves as this item, so the agent's late echo of it is absorbed. */
  madeEcho: ItemId | null;
  /** The person's command that the host runs in this turn: the agent has no part in it. */
  shell: string | null;
}

/** A command that a person ran beside the agent. */
export interface UserCommand {
  readonly command: string;
  readonly output: string;
}

export interface UsageState {
  /** The session's total is always what was before this turn plus the turn's. */
  before: UsageTotal;
  session: UsageTotal;
  turn: UsageTotal;
  steps: number;
  /** What the agent's own counter showed before we began to count; null when that is not known yet. */
  base: { tokens: Tokens; cost_usd: number } | null;
}

export interface BudgetState {
  /** What was said already, as `scope/kind/state`: each is said once. */
  readonly said: Set<string>;
  /** What other sessions used today, and what this one had used before today; null while nobody has said. */
  today: { readonly day: string; readonly others: OthersSpent; readonly ownBefore: Spent } | null;
  /** What the others of the session's family have used, and had used when the turn began. */
  family: Spent;
  familyBefore: Spent;
}

/** What all other sessions used today, and those of the same agent. */
export interface OthersSpent {
  readonly day: Spent;
  readonly agent: Spent;
}

/** Work that the agent reported as still running in the background. */
export type OpenWork = BackgroundWork & { readonly call_id?: string };

export interface MachineState {
  readonly session: SessionId;
  readonly agent: string;
  readonly capabilities: Pick<
    Capabilities,
    "echoesPrompts" | "steer" | "oneTurn" | "extras" | "permissionRules" | "shell"
  >;
  policy: TurnPolicy;
  at: number;
  /** How far the times that are shown are ahead of `at`. */
  aheadMs: number;
  /** When the agent last said anything. */
  heardAt: number;
  /** The line of a recorded host that is being reported; null while the agent's own words are. */
  hostLine: number | null;
  /** The native line whose reports are being read; null between lines. */
  line: number | null;
  /** `closing`: we asked for its end and wait to hear of it; prompts wait in the queue until then. */
  connection: "closed" | "opening" | "open" | "closing";
  closingAt: number;
  /** Its end needs no stop from us, unless it takes too long. */
  goesByItself: boolean;
  readonly recorded: boolean;
  started: boolean;
  ended: boolean;
  native_session_id: string | null;
  /** What was said of the session, field by field: only what is new is said again. */
  known: Map<string, unknown>;
  /** A person gave the title: what the agent finds does not replace it. */
  titleGiven: boolean;
  turns: number;
  permissions: number;
  questions: number;
  turn: Turn | null;
  readonly ledger: Ledger;
  readonly requests: Map<string, OpenRequest>;
  /** Permission requests that are being inspected, by key. */
  readonly held: Map<string, HeldRequest>;
  /** What users have allowed for the rest of the session. */
  remembered: readonly RememberedScope[];
  /** Requests that were resolved, by key: their native confirmations are absorbed. */
  resolved: Set<string>;
  queue: Prompt[];
  /** Prompts of the queue as a process before this one announced it; the edge gives them to us one by one. */
  readonly announced: Set<string>;
  /** What a person ran since the last prompt, where the agent does not know of it. */
  unheard: UserCommand[];
  /** Commands that wait for the connection. */
  outbox: AgentCommand[];
  /** Asks that nobody has answered yet, by id. */
  readonly asks: Set<string>;
  background: readonly OpenWork[];
  /** The names of what is in `background`. */
  backgroundNames: ReadonlySet<string>;
  todos: readonly Todo[];
  readonly usage: UsageState;
  readonly books: Books;
  readonly budget: BudgetState;
  readonly governor: GovernorState;
}

/** Whether a request is open, or is about to be shown. */
export const isWaiting = (state: MachineState): boolean => state.requests.size > 0 || state.held.size > 0;

export const noUsage = (): UsageTotal => ({ tokens: noTokens(), cost_usd: null, priced: "none" });

/** Whose word an event is. */
export interface EmitOptions {
  /** Null for what was reported: the agent's word, or in a recording its host's. */
  readonly source: Source | null;
  readonly synthetic: boolean;
  readonly rule: string | null;
  /** The native line that it came with, where that is not the current one. */
  readonly line?: number | null;
}

/** What the agent said, as it said it. */
export const asReported: EmitOptions = { source: null, synthetic: false, rule: null };

/** Puts an event of the machine's current turn on the output. */
export function emit(state: MachineState, out: MachineOutput[], draft: Draft, options = asReported): void {
  if (!state.started && draft.type !== "session.started") startSession(state, out);
  keepBooks(state.books, draft, state.at);
  out.push({
    type: "event",
    draft,
    turn_id: draft.type === "session.started" ? null : (state.turn?.id ?? null),
    source: options.source ?? (state.hostLine === null ? "agent" : "daemon"),
    synthetic: options.synthetic,
    rule: options.rule,
    line: options.line ?? state.hostLine,
  });
}

/** The rule on what the host takes back. */
export const REWOUND = "session.rewound";
/** The rule on a title that nobody chose. */
export const STAND_IN = "title.stand_in";

/** What we made to fill a gap. */
export const made = (rule: string | null = null): EmitOptions => ({ source: "daemon", synthetic: true, rule });

/** What we or a person decided: ours, but no gap was filled. */
export const ours = (rule: string | null = null): EmitOptions => ({ source: "daemon", synthetic: false, rule });

/** What the agent's own words imply by a rule. */
export const implied = (rule: string): EmitOptions => ({ source: null, synthetic: false, rule });

function startSession(state: MachineState, out: MachineOutput[]): void {
  state.started = true;
  const metadata = {
    agent: state.agent,
    agent_version: null,
    model: null,
    directory: null,
    permission_mode: null,
    tools: [],
  };
  emit(state, out, { type: "session.started", data: { metadata } }, made("session.unannounced"));
}

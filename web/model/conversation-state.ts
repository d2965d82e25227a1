/** What is known of a conversation while its events are read. */
import { noUsage } from "../../src/core/machine-state.ts";
import type { QueuedPrompt, SessionStatus, Todo, UsageTotal } from "../../src/protocol/events.ts";
import type { Entry, RequestEntry, StateEntry, TextEntry, ToolEntry, Turn } from "./entries.ts";

export interface Conversation {
  sequence: number;
  time: string;
  agent: string;
  agentVersion: string | null;
  model: string | null;
  variant: string | null;
  mode: string | null;
  permissionMode: string | null;
  directory: string | null;
  title: string | null;
  trusted: boolean | null;
  status: SessionStatus;
  /** The session was terminated. */
  ended: string | null;
  readonly entries: Entry[];
  readonly turns: Turn[];
  turn: Turn | null;
  readonly texts: Map<string, TextEntry>;
  readonly tools: Map<string, ToolEntry>;
  /** Items of tools, by item id. */
  readonly toolItems: Map<string, ToolEntry>;
  readonly subagents: Map<string, ToolEntry>;
  readonly requests: Map<string, RequestEntry>;
  state: StateEntry | null;
  todos: readonly Todo[];
  queue: readonly QueuedPrompt[];
  usage: UsageTotal;
  unparsed: number;
}

export const emptyConversation = (): Conversation => ({
  sequence: 0,
  time: "",
  agent: "",
  agentVersion: null,
  model: null,
  variant: null,
  mode: null,
  permissionMode: null,
  directory: null,
  title: null,
  trusted: null,
  status: "idle",
  ended: null,
  entries: [],
  turns: [],
  turn: null,
  texts: new Map(),
  tools: new Map(),
  toolItems: new Map(),
  subagents: new Map(),
  requests: new Map(),
  state: null,
  todos: [],
  queue: [],
  usage: noUsage(),
  unparsed: 0,
});

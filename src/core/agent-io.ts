/** What passes between an adapter and its agent: inputs (commands, lines, responses) and sends. */
import type { Ask, PermissionReply, Prompt, SessionChange } from "../protocol/commands.ts";
import type { StderrExcerpt } from "../protocol/events.ts";
import type { HostCall } from "./host-call.ts";
import type { LaunchOptions } from "./launch.ts";

export type AgentReply = Exclude<PermissionReply, "always">;

/** What the turn machine asks of an agent. Requests are named by the key the adapter gave them. */
export type AgentCommand =
  | { readonly type: "prompt"; readonly prompt: Prompt }
  /** Into the running turn; only for agents that can (`capabilities.steer`). */
  | { readonly type: "steer"; readonly prompt: Prompt }
  | {
      readonly type: "permission.reply";
      readonly key: string;
      /** Franca remembers an "always" itself: the agent is only ever allowed this one action. */
      readonly reply: AgentReply;
      readonly message?: string;
    }
  | { readonly type: "question.reply"; readonly key: string; readonly answers: readonly (readonly string[])[] }
  | { readonly type: "question.reject"; readonly key: string; readonly message?: string }
  | { readonly type: "abort" }
  | { readonly type: "set"; readonly change: SessionChange }
  | { readonly type: "compact" }
  | { readonly type: "shell"; readonly command: string }
  /** Only what the agent can (`capabilities.asks`). An `answer` report of the same id follows. */
  | { readonly type: "ask"; readonly ask_id: string; readonly ask: Ask };

/** How a connection ended. All null: the stream just ended and nobody knows why. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not start or go on, in a sentence for the user. */
  readonly message?: string;
  /** The error code that goes with the message; `agent_exited` when absent. */
  readonly error_code?: string;
  readonly stderr?: StderrExcerpt;
}

export type AdapterInput<Line> =
  | {
      readonly type: "line";
      readonly from: "agent" | "host";
      readonly line: Line;
      readonly at: number;
      /** Its number among the native lines, for lines of a recorded host. */
      readonly place?: number;
    }
  | { readonly type: "command"; readonly command: AgentCommand; readonly at: number }
  /**
   * `first`: this session opened the connection; false when it joins one that is already in use. `options`: what the
   * connection was launched with, for agents that get the session's settings (directory, resume, model…) in their
   * protocol.
   */
  | { readonly type: "connected"; readonly first: boolean; readonly options: LaunchOptions; readonly at: number }
  | { readonly type: "disconnected"; readonly exit: Exit; readonly at: number }
  | {
      readonly type: "response";
      readonly id: string;
      readonly status: number;
      readonly body: unknown;
      readonly at: number;
    }
  | { readonly type: "tick"; readonly at: number };

/** What we say to the agent. */
export type Send =
  /** One JSON line on the pipe. */
  | { readonly type: "send.line"; readonly line: unknown }
  /** One HTTP exchange; the answer returns as a `response` input with the same id. Status 0: it could not be sent. */
  | {
      readonly type: "send.request";
      readonly id: string;
      readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
      readonly path: string;
      readonly body?: unknown;
      /** The session cannot be had from this agent: the edge ends the connection when the request fails. */
      readonly vital?: boolean;
    }
  /** What the agent asked of this machine; the answer returns as a `response` input with the same id. */
  | { readonly type: "send.host"; readonly id: string; readonly call: HostCall }
  | { readonly type: "send.signal"; readonly signal: "interrupt" | "terminate" | "kill" }
  /** Nothing more will be written: closes the pipe. */
  | { readonly type: "send.close" };

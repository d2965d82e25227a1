/** A session driven by hand: the test plays both the person and the agent, and sees what goes to each. */
import type { Adapter } from "../../src/core/adapter.ts";
import type { Exit, Send } from "../../src/core/agent-io.ts";
import { defaultPolicy, type Effect, type SessionInput, type TurnPolicy } from "../../src/core/input.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { openSession, type Session } from "../../src/core/session.ts";
import type { Command } from "../../src/protocol/commands.ts";
import type { EventOf, EventType, UniversalEvent } from "../../src/protocol/events.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { inspectPurely } from "./inspected.ts";
import { plainOptions } from "./launch-options.ts";

export type Request = Extract<Send, { type: "send.request" }>;

export interface LiveSession {
  readonly session: Session;
  readonly events: UniversalEvent[];
  readonly effects: Effect[];
  readonly step: (input: DistributiveOmit<SessionInput, "at">) => readonly Effect[];
  readonly hear: (...lines: unknown[]) => void;
  readonly prompt: (text: string) => readonly Effect[];
  readonly command: (command: Command) => readonly Effect[];
  readonly connect: (options?: Partial<LaunchOptions>) => readonly Effect[];
  readonly disconnect: (exit: Exit) => readonly Effect[];
  /** Answers the oldest request that is not answered yet and whose path contains this. */
  readonly answer: (path: string, answer?: { readonly status?: number; readonly body?: unknown }) => readonly Effect[];
  /** The requests that nobody has answered yet. */
  readonly asked: () => readonly Request[];
  readonly of: <Type extends EventType>(type: Type) => EventOf<Type>[];
  /** Moves the clock. */
  readonly wait: (ms: number) => readonly Effect[];
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

export const launchOptions: LaunchOptions = plainOptions;

export function liveSession(adapter: Adapter, policy: Partial<TurnPolicy> = {}): LiveSession {
  const session = openSession({ sessionId: sessionId("s"), adapter, policy: { ...defaultPolicy, ...policy } });
  const events: UniversalEvent[] = [];
  const effects: Effect[] = [];
  const open: Request[] = [];
  let at = 1_000;
  let prompts = 0;
  const feed = (input: SessionInput): readonly Effect[] => {
    const out = session.step(input);
    events.push(...out.events);
    effects.push(...out.effects);
    for (const effect of out.effects) if (effect.type === "send.request") open.push(effect);
    const requests = out.effects.flatMap((effect) => (effect.type === "inspect" ? [effect.report] : []));
    const later = requests.flatMap((report) =>
      feed({ type: "inspected", key: report.key, inspection: inspectPurely(report), at: input.at }),
    );
    return [...out.effects.filter(({ type }) => type !== "inspect"), ...later];
  };
  const step: LiveSession["step"] = (input) => {
    at += 1;
    return feed({ ...input, at });
  };
  return {
    session,
    events,
    effects,
    step,
    hear: (...lines) => {
      for (const line of lines) step({ type: "line", from: "agent", line });
    },
    prompt(text) {
      prompts += 1;
      const prompt = { prompt_id: promptId(`p${prompts}`), text, attachments: [] };
      return step({ type: "command", command: { type: "prompt", prompt, delivery: "queue" } });
    },
    command: (command) => step({ type: "command", command }),
    connect: (options = {}) => step({ type: "connected", first: true, options: { ...launchOptions, ...options } }),
    disconnect: (exit) => step({ type: "disconnected", exit }),
    answer(path, { status = 200, body = null } = {}) {
      const index = open.findIndex((request) => request.path.includes(path));
      const [request] = index === -1 ? [] : open.splice(index, 1);
      if (request === undefined) throw new Error(`Nothing was asked of ${path}.`);
      return step({ type: "response", id: request.id, status, body });
    },
    asked: () => open,
    of: (type) => events.filter((event): event is EventOf<typeof type> => event.type === type),
    wait(ms) {
      at += ms;
      return feed({ type: "tick", at });
    },
  };
}

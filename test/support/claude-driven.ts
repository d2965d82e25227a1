/** Claude Code's adapter in a session, without its binary. */
import { claude } from "../../src/adapters/claude/index.ts";
import { defaultPolicy, type Effect, type SessionInput } from "../../src/core/input.ts";
import { openSession } from "../../src/core/session.ts";
import type { Command } from "../../src/protocol/commands.ts";
import type { EventOf, EventType, UniversalEvent } from "../../src/protocol/events.ts";
import { promptId, sessionId } from "../../src/protocol/ids.ts";
import { inspectPurely } from "./inspected.ts";
import { plainOptions } from "./launch-options.ts";

const options = { ...plainOptions, binary: "/bin/claude" };

/** A session of which the test plays both the person and the CLI. */
export function driven() {
  const session = openSession({ sessionId: sessionId("s"), adapter: claude, policy: defaultPolicy });
  const events: UniversalEvent[] = [];
  const sent: unknown[] = [];
  const calls: Extract<Effect, { type: "send.host" }>[] = [];
  const perform = (effect: Effect): void => {
    if (effect.type === "connect") feed({ type: "connected", first: true, options, at: 1 });
    if (effect.type === "send.line") sent.push(effect.line);
    if (effect.type === "send.host") calls.push(effect);
    if (effect.type === "inspect") {
      const { report } = effect;
      feed({ type: "inspected", key: report.key, inspection: inspectPurely(report), at: 2 });
    }
  };
  const feed = (input: SessionInput): void => {
    const out = session.step(input);
    events.push(...out.events);
    for (const effect of out.effects) perform(effect);
  };
  const command = (given: Command): void => feed({ type: "command", command: given, at: 2 });
  const self = {
    events,
    sent,
    calls,
    feed,
    command,
    hear: (...heard: readonly unknown[]): void => {
      for (const line of heard) feed({ type: "line", from: "agent", line, at: 2 });
    },
    prompt: (text: string) => {
      command({ type: "prompt", prompt: { prompt_id: promptId("p1"), text, attachments: [] }, delivery: "queue" });
      return self;
    },
    last: <Type extends EventType>(type: Type): EventOf<Type> => {
      const found = events.findLast((event): event is EventOf<Type> => event.type === type);
      if (found === undefined) throw new Error(`No ${type} among ${events.map((event) => event.type).join(", ")}`);
      return found;
    },
  };
  return self;
}

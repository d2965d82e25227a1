/** A session's title: the agent may find one, and what a person gave stays. */
import { expect, test } from "vitest";
import { mock } from "../../src/adapters/mock/index.ts";
import { defineAdapter } from "../../src/core/adapter.ts";
import { defaultPolicy } from "../../src/core/input.ts";
import { openSession, type Session } from "../../src/core/session.ts";
import { sessionId } from "../../src/protocol/ids.ts";

/** An agent that says nothing but titles. */
const titling = defineAdapter({
  agent: "titling",
  name: "Titling",
  isNative: (value): value is string => typeof value === "string",
  recognises: () => false,
  capabilities: mock.capabilities,
  launch: mock.launch,
  adapter: {
    start: () => null,
    step: (_state, input) => (input.type === "line" ? [{ type: "session", title: input.line }] : []),
  },
});

const metadata = {
  agent: "titling",
  agent_version: null,
  model: null,
  directory: null,
  permission_mode: null,
  tools: [],
};
const policy = defaultPolicy;
const id = sessionId("s");

function opened(title?: string): Session {
  const session = openSession({ sessionId: id, adapter: titling, policy });
  session.step({ type: "opened", metadata, ...(title === undefined ? {} : { title }), at: 1 });
  return session;
}

const finds = (session: Session, title: string): string | null => {
  session.step({ type: "line", from: "agent", line: title, at: 2 });
  return session.snapshot().title;
};

test("the agent's own titles follow one another", () => {
  const session = opened();
  expect(finds(session, "First")).toBe("First");
  expect(finds(session, "Better")).toBe("Better");
});

test("a title that only stands in gives way, also after a restart", () => {
  const session = opened();
  const command = { type: "set", change: { title: "Say hello" }, standIn: true } as const;
  session.step({ type: "command", command, at: 2 });
  expect(session.snapshot().title).toBe("Say hello");
  const again = openSession({ sessionId: id, adapter: titling, policy, snapshot: session.snapshot() });
  expect(finds(again, "A greeting")).toBe("A greeting");
});

test("a title given at the start, or later, stays; also after a restart", () => {
  expect(finds(opened("Mine"), "Its own")).toBe("Mine");
  const session = opened();
  finds(session, "Its own");
  session.step({ type: "command", command: { type: "set", change: { title: "Mine" } }, at: 3 });
  expect(finds(session, "Its own again")).toBe("Mine");
  const again = openSession({ sessionId: id, adapter: titling, policy, snapshot: session.snapshot() });
  expect(finds(again, "And again")).toBe("Mine");
});

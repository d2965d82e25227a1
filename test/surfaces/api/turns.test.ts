/** Turns over HTTP: every scenario of the mock ends once and rightly; queue, keys, abort, answers, late joiners. */
import { expect, test } from "vitest";
import { snapshotFold } from "../../../src/core/snapshot.ts";
import { scenarios } from "../../../src/mock/index.ts";
import type { EventOf, EventType, UniversalEvent } from "../../../src/protocol/events.ts";
import type { Session } from "../../../src/sdk/index.ts";
import { startDaemon } from "../../support/daemon.ts";

const of = <T extends EventType>(events: readonly UniversalEvent[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type);

/** How each scenario ends; the rest complete by the agent's own word. */
const endings: Readonly<Record<string, readonly string[]>> = {
  error: ["error signal"],
  crash: ["error exit"],
  hang: ["error watchdog"],
  background: ["completed signal", "completed signal"],
};

const prompts: Readonly<Record<string, string>> = {
  echo: "echo hi",
  say: "say hi",
  flood: "flood 300",
  long: "long 0",
};

async function collect(
  session: Session,
  { turns, answer }: { turns: number; answer: boolean },
): Promise<UniversalEvent[]> {
  const events: UniversalEvent[] = [];
  let ended = 0;
  for await (const event of session.events()) {
    events.push(event);
    if (answer && event.type === "permission.requested")
      await session.replyPermission(event.data.permission_id, "once");
    if (answer && event.type === "question.requested") {
      await session.replyQuestion(event.data.question_id, [["TypeScript"], ["Lint", "Tests"]]);
    }
    if (event.type === "turn.ended") ended += 1;
    if (ended === turns) break;
  }
  return events;
}

test("every scenario of the mock begins and ends each turn once, with the right reason and evidence", async () => {
  const { client, directory } = await startDaemon();
  const run = async (name: string) => {
    const session = await client.create({ agent: "mock", directory, watchdogMs: name === "hang" ? 100 : 60_000 });
    const expected = endings[name] ?? ["completed signal"];
    await session.prompt(prompts[name] ?? name);
    const events = await collect(session, { turns: expected.length, answer: true });
    const ends = of(events, "turn.ended");
    expect([name, ...ends.map(({ data }) => `${data.reason} ${data.evidence}`)]).toEqual([name, ...expected]);
    expect(of(events, "turn.started").map(({ data }) => data.turn_id)).toEqual(ends.map(({ data }) => data.turn_id));
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect((await session.get()).status).toBe("idle");
  };
  await Promise.all(scenarios.map(({ name }) => run(name)));
});

test("the answer of echo is exactly what was asked for, in deltas and whole", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  let streamed = "";
  let whole = "";
  for await (const event of session.ask("echo Grüße, 世界 🌍")) {
    if (event.type === "item.delta") streamed += event.data.delta;
    if (event.type !== "item.completed" || event.data.item.role !== "assistant") continue;
    for (const part of event.data.item.content) if (part.type === "text") whole += part.text;
  }
  expect([streamed, whole]).toEqual(["Grüße, 世界 🌍", "Grüße, 世界 🌍"]);
});

test("two prompts with one idempotency key run once", async () => {
  const { client, directory, url } = await startDaemon();
  const session = await client.create({ id: "a", agent: "mock", directory });
  const send = () =>
    fetch(`${url}/v1/sessions/a/messages`, {
      method: "POST",
      headers: { "idempotency-key": "once" },
      body: JSON.stringify({ message: "echo hi" }),
    });
  const [first, second] = await Promise.all([send(), send()]);
  expect([first.status, second.status]).toEqual([204, 204]);
  const id = first.headers.get("franca-prompt-id");
  expect(second.headers.get("franca-prompt-id")).toBe(id);
  await collect(session, { turns: 1, answer: false });
  const third = await send();
  expect([third.status, third.headers.get("franca-prompt-id")]).toEqual([204, id]);
  for await (const _ of session.ask("echo after"));
  const { events } = await session.listEvents();
  expect(of(events, "turn.started").map(({ data }) => data.prompt_id)).toEqual([
    id,
    expect.not.stringMatching(`^${id}$`),
  ]);
});

test("a prompt while busy is queued and runs after; its stream is its own turn's", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  const first = session.ask("permission")[Symbol.asyncIterator]();
  let asked: EventOf<"permission.requested"> | null = null;
  while (asked === null) {
    const { value } = await first.next();
    if (value?.type === "permission.requested") asked = value;
  }
  const promptId = await session.prompt("echo second");
  expect((await session.get()).queue).toMatchObject([{ prompt_id: promptId }]);
  const third: UniversalEvent[] = [];
  const streaming = (async () => {
    for await (const event of session.ask("echo third")) third.push(event);
  })();
  await session.abort();
  await streaming;

  const { events } = await session.listEvents();
  expect(of(events, "turn.ended").map(({ data }) => data.reason)).toEqual(["aborted", "completed", "completed"]);
  expect(of(events, "turn.started").map(({ data }) => data.origin)).toEqual(["user", "queue", "queue"]);
  expect(third.at(0)?.type).toBe("turn.started");
  expect(third.at(-1)?.type).toBe("turn.ended");
  expect(new Set(third.map(({ turn_id }) => turn_id))).toEqual(new Set([of(events, "turn.started").at(2)?.turn_id]));
  expect(third).toEqual(events.filter(({ turn_id }) => turn_id === third[0]?.turn_id));
});

test("a prompt is removed from the queue only while it waits", async () => {
  const daemon = await startDaemon();
  const session = await daemon.client.create({ agent: "mock", directory: daemon.directory });
  const running = await session.prompt("hang");
  const removed = await session.prompt("echo never");
  const kept = await session.prompt("echo kept");
  await session.dropQueued(removed);
  expect((await session.get()).queue).toMatchObject([{ prompt_id: kept }]);
  for (const id of [running, removed, "unknown"]) {
    await expect(session.dropQueued(id)).rejects.toMatchObject({ code: "prompt_not_found", status: 404 });
  }
  expect(await session.status()).toBe("running");
  await session.abort();
  for await (const event of session.events()) {
    if (event.type === "turn.started" && event.data.prompt_id === removed) throw new Error("It ran.");
    if (event.type === "turn.ended" && event.data.reason === "completed") break;
  }
});

test("a queued prompt that is dropped ends its stream", async () => {
  const { client, directory, url } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  await session.prompt("hang");
  const response = await fetch(`${url}/v1/sessions/${session.id}/messages/stream`, {
    method: "POST",
    body: JSON.stringify({ message: "echo never" }),
  });
  await session.abort({ clearQueue: true });
  expect(await response.text()).not.toContain("turn.started");
  const { events } = await session.listEvents();
  expect(of(events, "turn.started")).toHaveLength(1);
});

test("an abort while idle changes nothing", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  for await (const _ of session.ask("echo hi"));
  const before = await session.get();
  await session.abort();
  await session.abort({ clearQueue: true });
  expect(await session.get()).toEqual(before);
});

test("a late joiner's snapshot is the fold of the events, in mid-turn and after", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory });
  const check = async () => {
    const detail = await session.get();
    const { events } = await session.listEvents();
    const state = snapshotFold.start();
    for (const event of events) snapshotFold.step(state, event);
    expect(detail.lastSequence).toBe(state.sequence);
    expect(detail.status).toBe(state.status);
    expect(detail.items.map(({ item_id }) => item_id)).toEqual([...state.items.keys()]);
    expect(detail.pendingPermissions).toEqual([...state.permissions.values()]);
    expect(detail.todos).toEqual(state.todos);
    expect(detail.usage).toEqual(state.usage);
    return detail;
  };
  for await (const event of session.ask("permission")) {
    if (event.type !== "permission.requested") continue;
    expect(await check()).toMatchObject({ status: "requires_action", pendingPermissions: [{ status: "requested" }] });
    await session.replyPermission(event.data.permission_id, "always");
  }
  for await (const _ of session.ask("tool"));
  expect(await check()).toMatchObject({ status: "idle", turnId: null });
});

test("a session can be changed, looked at page by page, and deleted", async () => {
  const { client, directory } = await startDaemon();
  const session = await client.create({ agent: "mock", directory, title: "First" });
  await session.update({ title: "Second" });
  for (const word of ["one", "two", "three"]) for await (const _ of session.ask(`echo ${word}`));
  const { items, title } = await session.get();
  expect(title).toBe("Second");
  const last = items.at(-1);
  const page = await session.get({ itemsBefore: last?.item_id ?? "", limit: 2 });
  expect(page.items).toEqual(items.slice(-3, -1));

  const { lines } = await session.listNative();
  expect(lines.map(({ line }) => line)).toEqual(lines.map((_, index) => index + 1));
  expect(new Set(lines.map(({ from }) => from))).toEqual(new Set(["agent", "host"]));

  const following = (async () => {
    for await (const _ of session.events());
  })();
  await session.delete();
  await following;
  await expect(session.get()).rejects.toMatchObject({ code: "session_not_found" });
  expect(await client.sessions()).toEqual([]);
});

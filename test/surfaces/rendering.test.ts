/** Rendering a session in a dialect: from any event on, in bounded memory, the same as from the first event. */
import { expect, onTestFinished, test } from "vitest";
import type { OpenCodeEvent } from "../../src/dialects/opencode.ts";
import { findProjection } from "../../src/projections/index.ts";
import type { SessionId } from "../../src/protocol/ids.ts";
import type { EventGroup } from "../../src/runtime/log/contract.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { dialectOf, openCodeDialect } from "../../src/server/rendering/dialects.ts";
import { follow, openAt } from "../../src/server/rendering/rendering.ts";
import { openRenderings } from "../../src/server/rendering/renderings.ts";
import { openRing } from "../../src/server/rendering/ring.ts";
import { toOpenCode } from "../support/dialects.ts";
import { open, session, turn } from "../support/sessions.ts";

async function talk(names: readonly string[]): Promise<Sessions> {
  const sessions = await open(null);
  onTestFinished(() => sessions.close());
  for (const name of names) await sessions.create(session(name), { agent: "mock", directory: "/" });
  for (const prompt of ["echo one", "tool", "todo"]) {
    for (const name of names) await turn(sessions, session(name), prompt);
  }
  return sessions;
}

const eventsIn = async (sessions: Sessions, id: SessionId) =>
  (await sessions.events(id, { offset: 0, limit: 10_000, includeRaw: false })).events;

async function groupsIn(sessions: Sessions): Promise<EventGroup[]> {
  const groups: EventGroup[] = [];
  const signal = new AbortController().signal;
  for await (const group of sessions.followAll({ after: 0, signal })) {
    groups.push(group);
    if (group.position >= sessions.position()) break;
  }
  return groups;
}

test("opened at any event it continues as from the first one", async () => {
  const sessions = await talk(["only"]);
  const id = session("only");
  const events = await eventsIn(sessions, id);
  const projections = ["opencode", "takopi"].flatMap((name) => findProjection(name) ?? []);
  expect(projections).toHaveLength(2);
  for (const projection of projections) {
    const whole = projection.open();
    const all = events.map((event) => whole.step(event));
    const dialect = dialectOf(projection, sessions.projections);
    for (const sequence of events.map((event) => event.sequence)) {
      const rendering = await openAt(sessions, dialect, { session: id, sequence });
      expect(events.slice(sequence).map((event) => rendering.render(event))).toEqual(all.slice(sequence));
    }
  }
});

test("sessions that are closed to save memory are rendered as if they had stayed open", async () => {
  const names = ["a", "b", "c", "d", "e"];
  const sessions = await talk(names);
  const renderings = openRenderings({ sessions, dialect: openCodeDialect(sessions.projections), limit: 2 });
  const rendered = new Map<SessionId, OpenCodeEvent[]>();
  for (const group of await groupsIn(sessions)) {
    const events = (await renderings.render(group)).flatMap(({ out }) => out);
    rendered.set(group.session, [...(rendered.get(group.session) ?? []), ...events]);
    expect(renderings.size()).toBeLessThanOrEqual(2);
  }
  for (const name of names) {
    const id = session(name);
    expect(rendered.get(id)).toEqual(toOpenCode(await eventsIn(sessions, id)));
  }
});

test("a session that has ended is closed, and one recreated with its id begins anew", async () => {
  const sessions = await talk(["again"]);
  const id = session("again");
  const renderings = openRenderings({ sessions, dialect: openCodeDialect(sessions.projections) });
  for (const group of await groupsIn(sessions)) await renderings.render(group);
  expect(renderings.size()).toBe(1);
  await sessions.delete(id);
  await sessions.create(id, { agent: "mock", directory: "/" });
  await turn(sessions, id, "echo new");
  const own = (await groupsIn(sessions)).filter((group) => group.session === id);
  const events = [];
  for (const group of own) events.push(...(await renderings.render(group)).flatMap(({ out }) => out));
  expect(events).toEqual(toOpenCode(await eventsIn(sessions, id)));
  await sessions.terminate(id);
  for (const group of (await groupsIn(sessions)).slice(own.length)) await renderings.render(group);
  expect(renderings.size()).toBe(0);
});

test("followed from an offset, also from one that is not there yet", async () => {
  const sessions = await talk(["followed"]);
  const id = session("followed");
  const { length } = await eventsIn(sessions, id);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const after = length + 2;
  const following = follow(sessions, openCodeDialect(sessions.projections), {
    session: id,
    after,
    signal: stop.signal,
  });
  const first = (async () => {
    for await (const group of following) if (group.length > 0) return group[0]?.event.sequence;
    return null;
  })();
  await turn(sessions, id, "echo more");
  expect(await first).toBe(after + 1);
});

test("a ring holds what fits, at least one frame, and wakes whoever waits", async () => {
  const ring = openRing<{ readonly size: number }>({ bytes: 10 });
  const { signal } = new AbortController();
  const arrived = ring.arrival(0, signal);
  for (const size of [4, 4, 4]) ring.push({ size });
  await arrived;
  expect([ring.first(), ring.next(), ring.get(0), ring.get(2)]).toEqual([1, 3, undefined, { size: 4 }]);
  ring.push({ size: 100 });
  expect([ring.first(), ring.next()]).toEqual([3, 4]);
});

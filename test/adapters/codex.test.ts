/** Codex: its dialect against recordings and the published schema, several threads in one stream, its launch. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codex } from "../../src/adapters/codex/index.ts";
import { refusedRequests, silentNotifications } from "../../src/adapters/codex/silent.ts";
import { codexExec } from "../../src/adapters/codex-exec/index.ts";
import { adapters } from "../../src/adapters/index.ts";
import { convertLines } from "../../src/core/convert.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { isRpcLine } from "../../src/core/rpc.ts";
import {
  answeredRequests,
  isCodexNotification,
  isCodexRequest,
  itemTypes,
  translatedNotifications,
} from "../../src/dialects/codex.ts";
import { isExecLine } from "../../src/dialects/codex-exec.ts";
import { ExecLine } from "../../src/dialects/codex-exec-schema.ts";
import { CodexNotification, CodexRequest } from "../../src/dialects/codex-schema.ts";
import type { Recorded } from "../../src/dialects/recording.ts";
import { sharingKey } from "../../src/runtime/agent/connection/shared.ts";
import { options } from "../support/codex.ts";
import { root, transcriptsOf } from "../support/transcripts.ts";

const agentLines = (adapter: typeof codex): unknown[] =>
  transcriptsOf(adapter).flatMap(({ recording }) =>
    recording.flatMap((one) => (one.type === "line" && one.from === "agent" ? [one.line] : [])),
  );

describe("the dialect", () => {
  const lines = agentLines(codex);
  const notifications = lines.filter(
    (line) =>
      isRpcLine(line) && line.method !== undefined && line.id === undefined && !(line.method in silentNotifications),
  );
  const requests = lines.filter((line) => isRpcLine(line) && line.method !== undefined && line.id !== undefined);

  test("guard and schema agree on every recorded line", () => {
    expect(notifications.length).toBeGreaterThan(500);
    expect(requests.length).toBeGreaterThan(5);
    for (const line of notifications) {
      expect([isCodexNotification(line), CodexNotification.safeParse(line).success]).toEqual([true, true]);
    }
    for (const line of requests) {
      expect([isCodexRequest(line), CodexRequest.safeParse(line).success]).toEqual([true, true]);
    }
    for (const line of agentLines(codexExec)) {
      expect([isExecLine(line), ExecLine.safeParse(line).success]).toEqual([true, true]);
    }
  });

  test("guard and schema agree on lines that are broken anywhere", () => {
    const any = fc.oneof(
      fc.constant(null),
      fc.constant(undefined),
      fc.string(),
      fc.integer(),
      fc.constant([]),
      fc.constant({}),
    );
    fc.assert(
      fc.property(fc.constantFrom(...notifications, ...requests), fc.nat(), any, (line, place, value) => {
        const broken = withOneReplaced(line, { place, value });
        expect(isCodexNotification(broken)).toBe(CodexNotification.safeParse(broken).success);
        expect(isCodexRequest(broken)).toBe(CodexRequest.safeParse(broken).success);
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.constantFrom(...agentLines(codexExec)), fc.nat(), any, (line, place, value) => {
        const broken = withOneReplaced(line, { place, value });
        expect(isExecLine(broken)).toBe(ExecLine.safeParse(broken).success);
      }),
      { numRuns: 500 },
    );
  });
});

/** A copy in which one value, counted over the whole tree, is another. */
function withOneReplaced(line: unknown, { place, value }: { place: number; value: unknown }): unknown {
  const size = sizeOf(line);
  let left = place % size;
  const walk = (one: unknown): unknown => {
    if (left-- === 0) return value;
    if (Array.isArray(one)) return one.map(walk);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]));
  };
  return walk(line);
}

const sizeOf = (value: unknown): number =>
  1 +
  (typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + sizeOf(one), 0)
    : 0);

describe("the published schema", () => {
  const schema: { notifications: string[]; requests: string[]; items: string[]; clientRequests: string[] } = JSON.parse(
    readFileSync(join(root, "test/data/codex-app-server-schema.json"), "utf8"),
  );

  test("every notification is translated, or named as ignored", () => {
    expect(schema.notifications.length).toBeGreaterThan(80);
    const known = [...translatedNotifications, ...Object.keys(silentNotifications)];
    expect(schema.notifications.filter((method) => !known.includes(method))).toEqual([]);
    expect(known.filter((method) => !schema.notifications.includes(method))).toEqual([]);
    expect(known).toHaveLength(new Set(known).size);
  });

  test("every item type is translated", () => {
    expect([...itemTypes].sort()).toEqual([...schema.items].sort());
  });

  test("every request is answered, or named as refused", () => {
    expect([...answeredRequests, ...Object.keys(refusedRequests)].sort()).toEqual([...schema.requests].sort());
  });

  test("everything the documentation lists is in the code, and the other way round", () => {
    const document = readFileSync(join(root, "docs/agents/codex.md"), "utf8");
    const named = [...Object.keys(silentNotifications), ...Object.keys(refusedRequests), ...itemTypes];
    expect(named.filter((name) => !document.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("one stream, several threads", () => {
  /** A recording as if its host had numbered its requests otherwise, beside another host. */
  const renumbered = (recording: readonly Recorded[], name: string): Recorded[] =>
    recording.map((one) => {
      if (one.type !== "line" || !isRpcLine(one.line) || one.line.id === undefined) return one;
      const ours = (one.from === "host") === (one.line.method !== undefined);
      return { ...one, line: { ...one.line, id: ours ? `${name}:${one.line.id}` : `${name}-asks-${one.line.id}` } };
    });
  const withoutExit = (recording: readonly Recorded[]): Recorded[] => recording.filter(({ type }) => type !== "exit");
  // Each of one process and one session.
  const tellable = transcriptsOf(codex).filter(({ name }) => !/resume|handshake|two-sessions|kill-9/.test(name));

  test("two root threads are two sessions, each as if it were alone", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...tellable),
        fc.constantFrom(...tellable),
        fc.infiniteStream(fc.boolean()),
        (a, b, coin) => {
          fc.pre(a !== b);
          const [left, right] = [withoutExit(renumbered(a.recording, "a")), withoutExit(renumbered(b.recording, "b"))];
          const mixed: Recorded[] = [];
          const [i, j] = [left[Symbol.iterator](), right[Symbol.iterator]()];
          let [x, y] = [i.next(), j.next()];
          while (x.done !== true || y.done !== true) {
            const takeLeft = y.done === true || (x.done !== true && coin.next().value);
            if (takeLeft && x.done !== true) {
              mixed.push({ ...x.value, at: 0 });
              x = i.next();
            } else if (y.done !== true) {
              mixed.push({ ...y.value, at: 0 });
              y = j.next();
            }
          }
          const together = convertLines(codex, mixed);
          for (const alone of [left, right]) {
            const events = convertLines(
              codex,
              alone.map((one) => ({ ...one, at: 0 })),
            );
            const id = events[0]?.session_id;
            const told = (list: typeof events) => list.filter(isOwnWork).map(({ type, data }) => ({ type, data }));
            expect(told(together.filter(({ session_id }) => session_id === id))).toEqual(told(events));
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  /** Notices about the connection are told to every session, and item ids count them. */
  const isOwnWork = ({ type }: { type: string }): boolean =>
    /^(turn\.(started|ended)|permission|question|todo|usage)/.test(type);

  test("a spawned agent that speaks before it is named is heard once its parent names it", () => {
    const transcript = transcriptsOf(codex).find(({ name }) => name === "codex/subagent");
    const events = convertLines(codex, transcript?.recording ?? []);
    expect(new Set(events.map(({ session_id }) => session_id)).size).toBe(1);
    const said = events.flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []));
    expect(said.some(({ subagent, role }) => subagent?.parent_call_id === "call_spawn" && role === "assistant")).toBe(
      true,
    );
  });
});

describe("launch", () => {
  test("looks for no plugins and reports nothing home, unless the session says otherwise", () => {
    expect(codex.launch({ ...options, binary: "/bin/codex" })).toMatchObject({
      kind: "process",
      command: "/bin/codex",
      args: expect.arrayContaining(["app-server", "features.plugins=false", "analytics.enabled=false"]),
    });
    const launched = codex.launch({ ...options, env: { FRANCA_CODEX_PLUGINS: "1", FRANCA_CODEX_ANALYTICS: "1" } });
    if (launched.kind !== "process") throw new Error(launched.kind);
    expect(launched.args.join(" ")).not.toMatch(/plugins|analytics/);
  });

  test("sessions of one environment share a process, others do not", () => {
    const key = (asked: Partial<LaunchOptions>): string | null => {
      const launch = codex.launch({ ...options, ...asked });
      return sharingKey({ agent: "codex", launch, env: asked.env ?? {} });
    };
    expect(key({ session_id: "a", env: { A: "1", B: "2" } })).toBe(key({ session_id: "b", env: { B: "2", A: "1" } }));
    expect(key({ env: { A: "1" } })).not.toBe(key({ env: { A: "2" } }));
    expect(key({ binary: "/x" })).not.toBe(key({ binary: "/y" }));
    const isolated = { FRANCA_CODEX_ISOLATED: "1" };
    expect(key({ session_id: "a", env: isolated })).not.toBe(key({ session_id: "b", env: isolated }));
  });

  test("what Codex cannot do is refused by name", () => {
    expect(codex.launch({ ...options, mode: "yolo" })).toMatchObject({ kind: "refused", code: "mode_not_supported" });
    expect(codex.launch({ ...options, mcp: { a: {} } })).toMatchObject({ kind: "refused", code: "invalid_request" });
    expect(codexExec.launch(options)).toMatchObject({ kind: "refused", code: "not_supported" });
  });
});

test("each format is recognised by its own adapter and by no other", () => {
  for (const adapter of [codex, codexExec]) {
    for (const { recording } of transcriptsOf(adapter)) {
      const lines = recording.flatMap((one) => (one.type === "line" ? [one.line] : []));
      expect(lines.some((line) => adapter.recognises(line))).toBe(true);
      for (const other of adapters.filter(({ agent }) => agent !== adapter.agent)) {
        expect(lines.filter((line) => other.recognises(line))).toEqual([]);
      }
    }
  }
});

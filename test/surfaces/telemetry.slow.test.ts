/** OpenTelemetry: recordings and a live daemon as spans and metrics, taken by a receiver that checks the protocol. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { replay } from "../../src/core/fold.ts";
import { openMetrics, projectOtel, type Span, traceRequest } from "../../src/projections/otel/index.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { telemetrySettings } from "../../src/server/telemetry/settings.ts";
import { startDaemon } from "../support/daemon.ts";
import { attributesOf, metricsOf, openOtlpReceiver, spansOf } from "../support/otlp-receiver.ts";
import { transcriptsFolder } from "../support/transcripts.ts";

const start = { agent: null, model: null, content: false };
const spansIn = (events: readonly UniversalEvent[], content = false): Span[] =>
  replay(projectOtel({ ...start, content }), events).flatMap((one) => (one.type === "span" ? [one.span] : []));

const folders = readdirSync(transcriptsFolder, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith("events.jsonl"))
  .map((path) => dirname(path));

/** One list for each session of a recording. */
function sessionsIn(folder: string): UniversalEvent[][] {
  const lines = readFileSync(join(transcriptsFolder, folder, "events.jsonl"), "utf8")
    .trim()
    .split("\n");
  const bySession = new Map<string, UniversalEvent[]>();
  for (const line of lines) {
    const event: UniversalEvent = JSON.parse(line);
    const own = bySession.get(event.session_id);
    if (own === undefined) bySession.set(event.session_id, [event]);
    else own.push(event);
  }
  return [...bySession.values()];
}

const resource = { attributes: { "service.name": "franca" }, version: "0.0.0" };

describe("recordings", () => {
  test("every turn is one trace with one root, and every span has its parent in it", () => {
    let traces = 0;
    for (const [folder, events] of folders.flatMap((name) => sessionsIn(name).map((own) => [name, own] as const))) {
      const spans = spansIn(events);
      if (spans.length > 0) expect(spansOf(traceRequest(resource, spans))).toHaveLength(spans.length);
      expect({ folder, ids: new Set(spans.map(({ spanId }) => spanId)).size }).toEqual({ folder, ids: spans.length });
      const ended = events.filter(({ type }) => type === "turn.ended");
      const roots = spans.filter(({ name }) => name.startsWith("invoke_agent"));
      expect({ folder, roots: roots.length }).toEqual({ folder, roots: ended.length });
      for (const { parentSpanId, traceId, startedAt, endedAt } of spans) {
        expect(endedAt).toBeGreaterThanOrEqual(startedAt);
        if (parentSpanId === undefined) continue;
        const parent = spans.find((span) => span.spanId === parentSpanId);
        expect({ folder, parent: parent?.traceId }).toEqual({ folder, parent: traceId });
      }
      traces += roots.length;
    }
    expect(traces).toBeGreaterThan(100);
  });

  test("rendered twice it is the same, and without content nothing that was said is in it", () => {
    for (const events of folders.filter((name) => name.startsWith("claude/")).flatMap(sessionsIn)) {
      const text = JSON.stringify(spansIn(events));
      expect(text).toBe(JSON.stringify(spansIn(events)));
      expect(text).not.toMatch(/gen_ai\.(input|output)\.messages|tool\.call\.(arguments|result)/);
      const said = events.flatMap((event) =>
        event.type === "item.completed"
          ? event.data.item.content.flatMap((part) =>
              part.type === "text" && part.text.length > 20 ? [part.text] : [],
            )
          : [],
      );
      for (const one of said) expect(text).not.toContain(JSON.stringify(one).slice(1, -1));
    }
  });

  test("histograms keep every value", () => {
    const metrics = openMetrics({ startedAt: 1_700_000_000_000 });
    const attributes = { "gen_ai.operation.name": "chat" };
    for (const value of [0, 0.005, 1, 3, 10_000]) {
      metrics.add({
        type: "distribution",
        name: "gen_ai.client.operation.duration",
        unit: "s",
        value,
        attributes,
        at: 0,
      });
    }
    const [metric] = metricsOf(metrics.request(resource, 1_700_000_001_000));
    expect(metric).toMatchObject({ histogram: { dataPoints: [{ count: "5", sum: 10_004.005, min: 0, max: 10_000 }] } });
  });
});

describe("a daemon", () => {
  test("sends sessions, turns, steps and tools; a receiver that is busy gets them again", async () => {
    const receiver = await openOtlpReceiver([503, 429]);
    const daemon = await startDaemon({
      telemetry: { endpoint: `${receiver.url}/` },
      telemetryAllow: ["127.0.0.1"],
      telemetryMs: 5,
    });
    const session = await daemon.client.create({ id: "seen", agent: "mock", directory: daemon.directory });
    const { reason } = await session.run("tool");
    expect(reason).toBe("completed");
    const named = (name: string) => receiver.spans.filter((span) => span.name.startsWith(name));
    await receiver.until(() => named("invoke_agent").length === 1 && receiver.metrics.size >= 3);
    expect(receiver.problems).toEqual([]);
    const [root] = named("invoke_agent mock");
    const [created] = named("create_agent mock");
    const tools = named("execute_tool");
    const steps = named("chat");
    if (root === undefined || created === undefined) throw new Error("a span is missing");
    expect(attributesOf(root)).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "mock",
      "gen_ai.conversation.id": "seen",
      "franca.turn.reason": "completed",
    });
    expect(root.links).toEqual([{ traceId: created.traceId, spanId: created.spanId }]);
    expect(tools.map(({ name }) => name)).toEqual(["execute_tool read", "execute_tool edit"]);
    for (const span of [...tools, ...steps]) expect(span.parentSpanId).toBe(root.spanId);
    const total = (key: string) => steps.reduce((sum, span) => sum + Number(attributesOf(span)[key]), 0);
    expect(steps.length).toBeGreaterThan(0);
    for (const key of ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"]) {
      expect(total(key)).toBe(attributesOf(root)[key]);
    }
    expect([...receiver.metrics.keys()].sort()).toEqual(
      expect.arrayContaining(["franca.turns", "gen_ai.client.operation.duration", "gen_ai.client.token.usage"]),
    );
    expect(receiver.texts.join("")).not.toContain("One more line");
  });

  test("content is sent only where it is asked for, and headers come from a file or a variable", async () => {
    const receiver = await openOtlpReceiver();
    const daemon = await startDaemon({
      telemetry: { endpoint: receiver.url, content: true },
      telemetryAllow: ["127.0.0.1"],
      telemetryMs: 5,
    });
    const session = await daemon.client.create({ id: "open", agent: "mock", directory: daemon.directory });
    await session.run("echo words-of-a-person");
    await receiver.until(() => receiver.texts.join("").includes("gen_ai.output.messages"));
    expect(receiver.texts.join("")).toContain("words-of-a-person");
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://otlp.example:4318/",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x, tenant=a=b",
      OTEL_SERVICE_NAME: "mine",
    };
    expect(telemetrySettings({ configured: {}, environment })).toEqual({
      endpoint: "https://otlp.example:4318",
      headers: { authorization: "Bearer x", tenant: "a=b" },
      content: false,
      service: "mine",
      attributes: {},
    });
    expect(telemetrySettings({ configured: {}, environment: {} })).toBeNull();
    expect(
      telemetrySettings({ configured: {}, environment: { ...environment, OTEL_SDK_DISABLED: "true" } }),
    ).toBeNull();
  });

  test("a private receiver that was not allowed gets nothing, and sessions go on", async () => {
    const receiver = await openOtlpReceiver();
    const warned: string[] = [];
    const ignore = (): void => {};
    const logger = {
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (event: string, fields: object = {}) => void warned.push(`${event} ${JSON.stringify(fields)}`),
    };
    const daemon = await startDaemon({ telemetry: { endpoint: receiver.url }, telemetryMs: 5, logger });
    const session = await daemon.client.create({ id: "closed", agent: "mock", directory: daemon.directory });
    expect((await session.run("echo a")).reason).toBe("completed");
    await daemon.close();
    expect(warned.some((line) => line.includes("must be allowed explicitly"))).toBe(true);
    expect(receiver.headers).toEqual([]);
  });
});

/**
 * Every route of every surface, from the tables of routes: whatever is in a body or a query, it is answered, and never
 * with an error of ours. A new route is fuzzed without being named here.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { openCodeSessionId } from "../../src/projections/opencode/index.ts";
import { sessionId } from "../../src/protocol/ids.ts";
import { routes } from "../../src/server/api/index.ts";
import { operations } from "../../src/server/opencode/operations.ts";
import { startDaemon, type TestDaemon } from "../support/daemon.ts";
import { replaceIn } from "../support/disturb.ts";
import { bounds, odd } from "./values.ts";

const TRIES = Math.max(4, Math.round(bounds.numRuns / 20));

/** These would install programs or read the whole home folder of whoever runs the tests. */
const left = ["/v1/agents/{agent}/install", "/v1/discover", "/v1/adopt"];

/** Answered when something happens that they wait for. */
const waiting = ["GET /tui/control/next"];

/** A value that a schema of the OpenAPI document lets through, more or less. */
function valueFor(schema: unknown, depth = 0): fc.Arbitrary<unknown> {
  if (typeof schema !== "object" || schema === null || depth > 5) return fc.jsonValue({ maxDepth: 1 });
  const known = new Map<string, unknown>(Object.entries(schema));
  const list = (name: string): readonly unknown[] => {
    const value = known.get(name);
    return Array.isArray(value) ? value : [];
  };
  if (known.has("const")) return fc.constant(known.get("const"));
  if (list("enum").length > 0) return fc.constantFrom(...list("enum"));
  const choices = [...list("anyOf"), ...list("oneOf")];
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => valueFor(choice, depth + 1)));
  switch (known.get("type")) {
    case "object": {
      const properties = Object.entries(known.get("properties") ?? {});
      const fields = Object.fromEntries(properties.map(([name, inner]) => [name, valueFor(inner, depth + 1)]));
      return fc.record(fields, { requiredKeys: [] });
    }
    case "array":
      return fc.array(valueFor(known.get("items"), depth + 1), { maxLength: 3 });
    case "string":
      return fc.oneof(fc.string(), fc.constantFrom("mock", "/", "once", "2026-01-01T00:00:00Z", "http://[::1]:1/"));
    case "integer":
    case "number":
      return fc.oneof(fc.integer(), fc.double());
    case "boolean":
      return fc.boolean();
    default:
      return odd;
  }
}

const bodyOf = (schema: z.ZodType | null): fc.Arbitrary<unknown> => {
  const fitting = schema === null ? odd : valueFor(z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }));
  const changed = fc
    .record({ body: fitting, path: fc.array(fc.nat(), { maxLength: 4 }), part: odd })
    .map(({ body, path, part }) => replaceIn(body, path, part));
  return fc.oneof(fitting, changed, odd);
};

const asText = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: value.map((one) => JSON.stringify(one) ?? "") },
    fc.constantFrom("", "{", "[1,", "null", '"', '{"a":1}}', `${"[".repeat(3_000)}`, '{"__proto__":{"a":1}}'),
  );

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** An answer of 500 is a bug; so is none. A stream is left after its beginning. */
async function ask({ url }: TestDaemon, { method, path, body }: Asked): Promise<void> {
  const stop = new AbortController();
  const hasBody = !["GET", "HEAD"].includes(method);
  const headers = hasBody ? { "content-type": "application/json" } : {};
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
  const response = await fetch(`${url}${path}`, { method, headers, signal, ...(hasBody ? { body } : {}) }).catch(
    (error: unknown) => {
      throw new Error(`${method} ${path} with ${body} got no answer: ${error}`);
    },
  );
  const isStream = (response.headers.get("content-type") ?? "").includes("event-stream");
  const said = response.status === 500 ? await response.text() : "";
  expect({ method, path, body, status: response.status, said }).not.toMatchObject({ status: 500 });
  if (isStream || response.body === null) stop.abort();
  else await response.arrayBuffer();
}

const query = fc.dictionary(
  fc.constantFrom("limit", "offset", "q", "agent", "by", "days", "idleSince", "directory", "before", "x"),
  fc.oneof(fc.string(), fc.constantFrom("-1", "1e9", "NaN", "", "2026-01-01T00:00:00Z")),
  { maxKeys: 3 },
);
const asQuery = (given: Record<string, string>): string => new URLSearchParams(given).toString();

const fill = (path: string, named: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}|:(\w+)/g, (_, one?: string, other?: string) =>
    encodeURIComponent(named[one ?? other ?? ""] ?? "nobody"),
  );

async function daemonWithSession(): Promise<TestDaemon> {
  const daemon = await startDaemon({ opencodeRoot: false });
  await daemon.client.create({ id: "fuzzed", agent: "mock", directory: daemon.directory });
  return daemon;
}

test("the routes of /v1", { timeout: 600_000 }, async () => {
  let daemon = await daemonWithSession();
  for (const { method, path, body } of routes.filter((route) => !left.includes(route.path))) {
    const given = fc.record({ text: asText(bodyOf(body)), query, id: fc.constantFrom("fuzzed", "fuzzed", "none") });
    await fc.assert(
      fc.asyncProperty(given, async ({ text, query: asked, id }) => {
        const named = { id, agent: "mock", permissionId: "p", questionId: "q", promptId: "p" };
        const target = `${fill(path, named)}?${asQuery(asked)}`;
        await ask(daemon, { method: method.toUpperCase(), path: target, body: text });
      }),
      { numRuns: TRIES, seed: bounds.seed },
    );
    expect((await fetch(`${daemon.url}/v1/health`)).status, `healthy after ${method} ${path}`).toBe(200);
    const { status } = await fetch(`${daemon.url}/v1/sessions/fuzzed`);
    if (status === 404) daemon = await daemonWithSession();
  }
});

test("the routes of /opencode", { timeout: 600_000 }, async () => {
  const daemon = await daemonWithSession();
  const id = openCodeSessionId(sessionId("fuzzed"));
  const named = { sessionID: id, id, messageID: "msg_1", partID: "prt_1", permissionID: "per_1", requestID: "req_1" };
  for (const operation of operations.filter((one) => !waiting.includes(one))) {
    const [method = "GET", path = "/"] = operation.split(" ");
    const given = fc.record({ text: asText(odd), query });
    await fc.assert(
      fc.asyncProperty(given, async ({ text, query: asked }) => {
        await ask(daemon, { method, path: `/opencode${fill(path, named)}?${asQuery(asked)}`, body: text });
      }),
      { numRuns: TRIES, seed: bounds.seed },
    );
  }
  expect((await fetch(`${daemon.url}/v1/health`)).status).toBe(200);
});

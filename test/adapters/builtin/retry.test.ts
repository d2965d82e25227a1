/** Trying again: the policy as a table, and the loop around it against servers that fail. */
import { describe, expect, test } from "vitest";
import { readFailure } from "../../../src/builtin/failure.ts";
import { defaultRetry, retryDelay } from "../../../src/builtin/retry.ts";
import type { ScriptTurn } from "../../../src/model-server/script.ts";
import {
  answer,
  call,
  endOf,
  of,
  openHouse,
  providers,
  resultsIn,
  saidIn,
  statesIn,
  text,
} from "../../support/builtin.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

const failureWith = (headers: Record<string, string>, statusCode = 429) =>
  readFailure({ message: "slow down", statusCode, responseHeaders: headers });

describe("the wait", () => {
  const delay = (headers: Record<string, string>, { attempt = 1, random = 0 } = {}) =>
    retryDelay({ failure: failureWith(headers), attempt, policy: defaultRetry, now: NOW, random });

  test.each<[Record<string, string>, number]>([
    [{ "retry-after-ms": "1500" }, 1_500],
    [{ "retry-after-ms": "12.5" }, 13],
    [{ "retry-after-ms": "7", "retry-after": "60" }, 7],
    [{ "Retry-After": "3" }, 3_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "3600" }, 3_600_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" }, 5_000],
    [{ "retry-after": "Wed, 31 Dec 2025 23:59:00 GMT" }, 0],
    [{ "retry-after": "99999999999" }, 2_147_483_647],
    [{ "retry-after": "soon" }, 2_000],
    [{ "retry-after-ms": "", "retry-after": "-1" }, 2_000],
    [{}, 2_000],
  ])("%j → %i ms", (headers, expected) => {
    expect(delay(headers)).toBe(expected);
  });

  test("doubles, with at most a quarter more by chance, up to the cap", () => {
    const attempts = [1, 2, 3, 4, 5];
    expect(attempts.map((attempt) => delay({}, { attempt }))).toEqual([2_000, 4_000, 8_000, 16_000, 30_000]);
    expect(attempts.map((attempt) => delay({}, { attempt, random: 1 }))).toEqual([
      2_500, 5_000, 10_000, 20_000, 30_000,
    ]);
  });

  test("is over after as many retries as allowed", () => {
    expect(delay({}, { attempt: 6 })).toBeNull();
    expect(delay({ "retry-after": "1" }, { attempt: 6 })).toBeNull();
  });
});

describe("what went wrong", () => {
  test.each<[string, unknown, string, string]>([
    ["429", { statusCode: 429, message: "Too many" }, "passing", "rate_limited"],
    ["500", { statusCode: 500, message: "oops" }, "passing", "provider_unavailable"],
    ["503", { statusCode: 503, message: "" }, "passing", "provider_unavailable"],
    ["529", { statusCode: 529, message: "" }, "passing", "overloaded"],
    ["408", { statusCode: 408, message: "" }, "passing", "provider_unavailable"],
    ["overload in the stream", { type: "overloaded_error", message: "Overloaded" }, "passing", "overloaded"],
    ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), "passing", "connection_lost"],
    [
      "fetch failed",
      new TypeError("fetch failed", { cause: new Error("other side closed") }),
      "passing",
      "connection_lost",
    ],
    ["terminated", new TypeError("terminated"), "passing", "connection_lost"],
    ["a timeout", new Error("The provider said nothing for 300 s: timeout."), "passing", "timeout"],
    [
      "wrapped",
      { message: "Failed after 1 attempt", lastError: { statusCode: 502, message: "" } },
      "passing",
      "provider_unavailable",
    ],
    ["400", { statusCode: 400, message: "bad" }, "lasting", "request_refused"],
    ["401", { statusCode: 401, message: "no key" }, "lasting", "credentials_refused"],
    ["404", { statusCode: 404, message: "no model" }, "lasting", "model_not_found"],
    [
      "no credit",
      { statusCode: 429, message: "", responseBody: '{"error":{"code":"insufficient_quota"}}' },
      "lasting",
      "quota_exhausted",
    ],
    [
      "too long, Anthropic",
      { statusCode: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
      "context",
      "context_overflow",
    ],
    [
      "too long, OpenAI",
      { statusCode: 400, message: "", responseBody: '{"error":{"code":"context_length_exceeded","message":"x"}}' },
      "context",
      "context_overflow",
    ],
    [
      "too long, Google",
      { statusCode: 400, message: "The input token count (1100000) exceeds the maximum" },
      "context",
      "context_overflow",
    ],
    ["too large", { statusCode: 413, message: "" }, "context", "context_overflow"],
    ["a token rate", { statusCode: 429, message: "too many tokens per minute: rate limit" }, "passing", "rate_limited"],
    ["nothing at all", undefined, "lasting", "provider_error"],
  ])("%s", (_name, error, kind, code) => {
    expect(readFailure(error)).toMatchObject({ kind, code });
  });

  test("a cause that is its own cause is read once", () => {
    const error = new Error("round and round");
    error.cause = error;
    expect(readFailure(error).message).toBe("round and round");
  });
});

const failing = (status: number, headers: Record<string, string> = {}): ScriptTurn => ({
  type: "status",
  status,
  headers,
  message: `scripted ${status}`,
});

describe.each(providers)("%s", (provider) => {
  test.each<[string, ScriptTurn, number]>([
    ["429 with retry-after-ms", failing(429, { "retry-after-ms": "25" }), 25],
    ["429 with retry-after in seconds", failing(429, { "retry-after": "2" }), 2_000],
    ["429 with retry-after as a date", failing(429, { "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" }), 9_000],
    ["503", failing(503), 2_000],
  ])("%s is tried again, and the wait is shown", async (_name, turn, wait) => {
    const house = await openHouse([turn, answer(text("Here I am."))], { provider, world: { now: () => NOW } });
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(house.waits).toEqual([wait]);
    expect(statesIn(events)).toEqual(["retrying", "running"]);
    const [state] = of(events, "turn.state");
    expect(state?.data).toMatchObject({ attempt: 1, message: expect.stringContaining("scripted") });
    expect(state?.data.next).toBe(Date.parse(state?.time ?? "") + wait);
    expect(house.requests).toHaveLength(2);
  });

  test("a connection cut in the middle: what was said is failed and not sent back", async () => {
    const house = await openHouse(
      [
        {
          type: "answer",
          blocks: [text("Half of an ans", 7)],
          fault: { type: "cut", afterChunks: 3 },
          // So that what was said before the cut is on its way.
          chunkDelayMs: 5,
        },
        answer(text("The whole answer.")),
        answer(text("More.")),
      ],
      { provider },
    );
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["The whole answer."]);
    const failed = of(events, "item.completed").filter(({ data }) => data.item.status === "failed");
    expect(failed).toHaveLength(1);
    expect(JSON.stringify(failed[0]?.data.item.content)).toContain("Half");
    await house.turn("go on");
    expect(house.requests[1]?.messages).not.toContain("Half");
    expect(house.requests[2]?.messages).not.toContain("Half");
    expect(house.requests[2]?.messages).toContain("The whole answer.");
  });

  test("a tool call of an answer that broke off never runs", async () => {
    const house = await openHouse(
      [
        {
          type: "answer",
          blocks: [call("bash", { command: "echo once >> log.txt" }), text("And then I would sa", 5)],
          fault: { type: "cut", afterChunks: 3 },
        },
        answer(call("bash", { command: "echo once >> log.txt" })),
        answer(call("read", { filePath: "log.txt" })),
        answer(text("Once.")),
      ],
      { provider },
    );
    const events = await house.turn("do it once");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(resultsIn(events).at(-1)?.output).toBe("     1\tonce\n\n(end of file, 1 lines)");
  });

  test("an error event in the stream is tried again", async () => {
    const house = await openHouse(
      [
        {
          type: "answer",
          blocks: [text("Hm", 2)],
          fault: { type: "error", afterChunks: 1, code: "overloaded_error", message: "Overloaded" },
        },
        answer(text("Better.")),
      ],
      { provider },
    );
    const events = await house.turn("hello");
    expect(endOf(events)).toEqual({ reason: "completed" });
    expect(saidIn(events)).toEqual(["Better."]);
  });

  test("after five retries it is given up: six requests, one end", async () => {
    const house = await openHouse([failing(503)], { provider });
    const events = await house.turn("hello");
    expect(endOf(events)).toMatchObject({ reason: "error", code: "provider_unavailable" });
    expect(endOf(events).message).toContain("5 retries");
    expect(house.requests).toHaveLength(6);
    expect(of(events, "turn.state").flatMap(({ data }) => data.attempt ?? [])).toEqual([1, 2, 3, 4, 5]);
    expect(of(events, "turn.ended")).toHaveLength(1);
    expect(await house.sessions.get(house.id)).toMatchObject({ status: "idle" });
  });

  test("what will not pass is not tried again", async () => {
    const house = await openHouse([failing(401)], { provider });
    expect(endOf(await house.turn("hello"))).toMatchObject({ reason: "error", code: "credentials_refused" });
    expect(house.requests).toHaveLength(1);
    expect(house.waits).toEqual([]);
  });
});

test("the policy of the configuration holds", async () => {
  const house = await openHouse([failing(503)], { config: { retry: { max: 2, baseMs: 10, capMs: 15 } } });
  expect(endOf(await house.turn("hello"))).toMatchObject({ reason: "error" });
  expect(house.waits).toEqual([10, 15]);
});

test("an abort ends the wait at once", async () => {
  const house = await openHouse([failing(429, { "retry-after": "3600" })], {
    world: {
      sleep: (_ms, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        }),
    },
  });
  const events = await house.turn("hello", async (event) => {
    if (event.type === "turn.state" && event.data.state === "retrying") {
      await house.sessions.abort(house.id, { clearQueue: false });
    }
  });
  expect(endOf(events)).toEqual({ reason: "aborted" });
  expect(of(events, "turn.ended")[0]?.data.evidence).toBe("signal");
  expect(house.requests).toHaveLength(1);
});

test("a provider that falls silent is left and asked again", async () => {
  const house = await openHouse([{ type: "silence" }, answer(text("Sorry, I was away."))], { world: { idleMs: 50 } });
  const events = await house.turn("hello");
  expect(endOf(events)).toEqual({ reason: "completed" });
  expect(saidIn(events)).toEqual(["Sorry, I was away."]);
});

test("an abort in the middle of an answer keeps what was said for the next turn", async () => {
  const house = await openHouse([
    { type: "answer", blocks: [text("I was about to say", 6)], fault: { type: "hang", afterChunks: 3 } },
    answer(text("Yes?")),
  ]);
  let aborted = false;
  const events = await house.turn("speak", async (event) => {
    if (event.type !== "item.delta" || aborted) return;
    aborted = true;
    await house.sessions.abort(house.id, { clearQueue: false });
  });
  expect(endOf(events)).toEqual({ reason: "aborted" });
  await house.turn("go on");
  expect(house.requests[1]?.messages).toContain("I w");
});

/** Which model is asked, where, with which key; and how a wrong configuration is told. */
import { describe, expect, test } from "vitest";
import { type BuiltinConfig, readBuiltinConfig, withFlags } from "../../../src/builtin/config.ts";
import { chooseModel, hasCredentials, listModels, withVersion } from "../../../src/builtin/providers.ts";

const choose = (wanted: string | null, settings: BuiltinConfig = {}, environment: Record<string, string> = {}) =>
  chooseModel({ wanted, settings, environment });

describe("a wrong configuration names the key and what was expected", () => {
  test.each<[unknown, RegExp]>([
    [{ modle: "x" }, /builtin has no key "modle"/],
    [{ provider: { a: { kind: "mistral" } } }, /builtin\.provider\.a\.kind.*anthropic/],
    [{ provider: { a: { kind: "openai", baseURL: "not a url" } } }, /builtin\.provider\.a\.baseURL.*http/],
    [{ provider: { a: { kind: "openai", key: "x" } } }, /builtin\.provider\.a has no key "key"/],
    [{ limits: { m: { context: 0, output: 1 } } }, /builtin\.limits\.m\.context/],
    [{ limits: { m: { context: 10 } } }, /builtin\.limits\.m\.output/],
    [{ permission: { bash: "maybe" } }, /builtin\.permission\.bash.*"allow", "ask"/],
    [{ permission: { bash: { "rm *": "never" } } }, /builtin\.permission\.bash.*"allow", "ask"/],
    [{ maxSteps: 0 }, /builtin\.maxSteps/],
    [{ retry: { max: -1 } }, /builtin\.retry\.max/],
    [{ retry: { cap: 1 } }, /builtin\.retry has no key "cap"/],
    [{ compaction: { auto: "yes" } }, /builtin\.compaction\.auto.*boolean/],
    [{ experimental: { continue: true } }, /builtin\.experimental has no key "continue"/],
    [7, /builtin: .*object/],
  ])("%j", (value, message) => {
    expect(() => readBuiltinConfig(value, { source: "franca.config.json" })).toThrow(message);
    expect(() => readBuiltinConfig(value, { source: "franca.config.json" })).toThrow(
      /^franca\.config\.json is not right/,
    );
  });

  test("nothing at all is a configuration", () => {
    expect(readBuiltinConfig(undefined, { source: "x" })).toEqual({});
  });
});

describe("the model", () => {
  test.each<[string | null, Record<string, string>, Partial<ReturnType<typeof choose>>]>([
    [null, { ANTHROPIC_API_KEY: "k" }, { provider: "anthropic", kind: "anthropic", apiKey: "k" }],
    [null, { OPENAI_API_KEY: "k" }, { provider: "openai", kind: "openai" }],
    [null, { GOOGLE_GENERATIVE_AI_API_KEY: "k" }, { provider: "google", kind: "google" }],
    ["claude-opus-4-1", { ANTHROPIC_API_KEY: "k" }, { provider: "anthropic", model: "claude-opus-4-1" }],
    ["gpt-5-mini", { OPENAI_API_KEY: "k" }, { provider: "openai", model: "gpt-5-mini" }],
    ["ollama/qwen3:8b", {}, { kind: "openai-compatible", baseURL: "http://127.0.0.1:11434/v1", apiKey: null }],
    ["lmstudio/org/model", {}, { model: "org/model", baseURL: "http://127.0.0.1:1234/v1" }],
    ["openai-compatible/m", { OPENAI_COMPATIBLE_BASE_URL: "http://h:1" }, { baseURL: "http://h:1/v1", apiKey: null }],
    [
      "openai-compatible/m",
      { OPENAI_BASE_URL: "http://h:2/v1", OPENAI_API_KEY: "k" },
      { baseURL: "http://h:2/v1", apiKey: "k" },
    ],
    [
      "openai-compatible/m",
      {
        OPENAI_COMPATIBLE_BASE_URL: "http://h:1",
        OPENAI_BASE_URL: "http://h:2",
        OPENAI_COMPATIBLE_API_KEY: "a",
        OPENAI_API_KEY: "b",
      },
      { baseURL: "http://h:1/v1", apiKey: "a" },
    ],
    ["anthropic/m", { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://h:3/" }, { baseURL: "http://h:3/v1" }],
  ])("%s with %j", (wanted, environment, expected) => {
    expect(choose(wanted, {}, environment)).toMatchObject(expected);
  });

  test("a provider of one's own", () => {
    const settings: BuiltinConfig = {
      model: "mine/big",
      provider: { mine: { kind: "openai-compatible", baseURL: "http://gpu:8000", apiKeyEnv: "GPU_KEY" } },
      limits: { "mine/big": { context: 100, output: 10 } },
    };
    expect(choose(null, settings, { GPU_KEY: "k", OPENAI_API_KEY: "not for them" })).toEqual({
      provider: "mine",
      model: "big",
      kind: "openai-compatible",
      baseURL: "http://gpu:8000/v1",
      apiKey: "k",
      limits: { context: 100, output: 10 },
    });
    expect(choose(null, settings, { OPENAI_API_KEY: "not for them" }).apiKey).toBeNull();
    expect(choose("other", settings).model).toBe("other");
  });

  test("limits are named with or without the provider", () => {
    const limits = { "test-model": { context: 7, output: 1 } };
    expect(choose("ollama/test-model", { limits }).limits).toEqual({ context: 7, output: 1 });
    expect(choose("ollama/unknown").limits).toBeNull();
    expect(choose("anthropic/claude-sonnet-4-5", {}, { ANTHROPIC_API_KEY: "k" }).limits?.context).toBe(200_000);
  });

  test("flags win over the file, the session over both", () => {
    const settings = withFlags(
      { model: "anthropic/a", provider: { anthropic: { kind: "anthropic", baseURL: "http://file", apiKey: "k" } } },
      { baseURL: "http://flag:9", model: "anthropic/b" },
    );
    expect(choose(null, settings)).toMatchObject({ model: "b", baseURL: "http://flag:9/v1" });
    expect(choose("anthropic/c", settings)).toMatchObject({ model: "c" });
  });

  test.each([
    [null, {}, /No model is set/],
    ["mars/rover", {}, /names no provider/],
    ["constructor/x", {}, /names no provider/],
    ["anthropic/x", {}, /No API key.*ANTHROPIC_API_KEY/],
    ["openai-compatible/x", {}, /No address is known.*OPENAI_COMPATIBLE_BASE_URL/],
  ])("%s: %j is refused with a sentence that helps", (wanted, environment, message) => {
    expect(() => choose(wanted, {}, environment)).toThrow(message);
  });

  test.each([
    ["http://h", "openai", "http://h/v1"],
    ["http://h/", "anthropic", "http://h/v1"],
    ["http://h/v1", "openai", "http://h/v1"],
    ["http://h/v1/", "openai", "http://h/v1"],
    ["http://h/api/paas/v4", "openai-compatible", "http://h/api/paas/v4"],
    ["http://h/v1beta/openai", "openai-compatible", "http://h/v1beta/openai"],
    ["http://h", "google", "http://h/v1beta"],
  ] as const)("%s for %s is %s", (url, kind, expected) => {
    expect(withVersion(url, kind)).toBe(expected);
  });

  test("what is listed, and whether anything can be used", () => {
    const environment = { ANTHROPIC_API_KEY: "k" };
    expect(listModels({ settings: {}, environment })).toEqual({
      models: [{ id: "anthropic/claude-sonnet-4-5" }],
      defaultModel: "anthropic/claude-sonnet-4-5",
    });
    expect(listModels({ settings: {}, environment: {} })).toEqual({ models: [] });
    const limits = {
      mine: { context: 8_000, output: 1_000 },
      "lab/other": { context: 9_000, input: 1, output: 2_000 },
    };
    expect(listModels({ settings: { model: "lab/mine", limits }, environment: {} }).models).toEqual([
      { id: "lab/mine", limit: { context: 8_000, output: 1_000 } },
      { id: "mine", limit: { context: 8_000, output: 1_000 } },
      { id: "lab/other", limit: { context: 9_000, output: 2_000 } },
    ]);
    expect(hasCredentials({ settings: {}, environment })).toBe(true);
    expect(hasCredentials({ settings: {}, environment: {} })).toBe(false);
  });
});

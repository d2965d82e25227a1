/** What children of ours get to see, and what of ours nobody gets to see. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { claude } from "../../src/adapters/claude/index.ts";
import { adapters } from "../../src/adapters/index.ts";
import { childEnvironment } from "../../src/runtime/agent/environment.ts";
import { openLogger } from "../../src/runtime/logger.ts";
import { openRedactor, REDACTED } from "../../src/runtime/redact.ts";

const base = { pass: [], launch: {}, session: {}, sessionId: "s", runId: "r", inherited: {} };

test("children get the list, their agent's own, what was passed on, what launch and session ask for; nothing else", () => {
  const environment = childEnvironment({
    ...base,
    owns: claude.ownsVariable,
    inherited: {
      PATH: "/bin",
      HOME: "/home/me",
      LC_ALL: "C",
      https_proxy: "http://proxy",
      ANTHROPIC_API_KEY: "key",
      OPENAI_API_KEY: "another agent's",
      AWS_SECRET_ACCESS_KEY: "not for agents",
      MY_NAME: "me",
      FRANCA_TOKEN: "ours",
      FRANCA_SESSION_ID: "an outer session",
    },
    pass: ["MY_NAME"],
    launch: { CODEX_HOME: "/a", MODE: "launch" },
    session: { MODE: "session" },
  });
  expect(environment).toEqual({
    PATH: "/bin",
    HOME: "/home/me",
    LC_ALL: "C",
    https_proxy: "http://proxy",
    ANTHROPIC_API_KEY: "key",
    MY_NAME: "me",
    CODEX_HOME: "/a",
    MODE: "session",
    FRANCA_SESSION_ID: "s",
    FRANCA_RUN_ID: "r",
  });
});

test("each agent owns what lets it log in, and no agent owns a key that only another can use", () => {
  const owners = (name: string): string[] => adapters.filter((one) => one.ownsVariable(name)).map(({ agent }) => agent);
  for (const { agent, credentials } of adapters) {
    for (const name of credentials?.variables ?? []) expect(owners(name)).toContain(agent);
  }
  expect(owners("ANTHROPIC_API_KEY")).toEqual(["builtin", "claude", "opencode", "claude-acp", "opencode-acp", "pi"]);
  expect(owners("OPENAI_API_KEY")).toEqual(["builtin", "codex", "opencode", "codex-acp", "opencode-acp", "pi", "qwen"]);
  expect(owners("CLAUDE_CODE_OAUTH_TOKEN")).toEqual(["claude", "claude-acp"]);
  expect(owners("CODEX_API_KEY")).toEqual(["codex", "codex-acp"]);
  expect(owners("GEMINI_API_KEY")).toEqual(["builtin", "opencode", "gemini", "opencode-acp"]);
  expect(owners("AMP_API_KEY")).toEqual(["amp"]);
  expect(owners("FRANCA_TOKEN")).toEqual([]);
});

test("values we hold do not survive in lines, texts and log fields, however they are spelt in JSON", () => {
  const secret = fc.string({ minLength: 8, unit: "grapheme" }).filter((text) => text.trim().length >= 8);
  fc.assert(
    fc.property(secret, fc.json(), (value, rest) => {
      const redactor = openRedactor({ sessionEnv: { MY_API_KEY: value } });
      const original = { before: value, nested: [`x${value}y`, JSON.parse(rest)] };
      const text = JSON.stringify(original);
      const line = redactor.line({ text, value: original });
      expect(JSON.parse(line.text)).toEqual(line.value);
      expect(line.text.includes(JSON.stringify(value).slice(1, -1))).toBe(REDACTED.includes(value));
      expect(redactor.text(`a ${value} b`)).toBe(`a ${REDACTED} b`);
    }),
  );
});

test("what is plainly no secret stays readable", () => {
  const redactor = openRedactor({
    sessionEnv: {
      DEBUG: "1",
      PROJECT: "/home/me/project",
      BASE_URL: "http://127.0.0.1:8080",
      NUMBER: "12345678",
      NODE_ENV: "production",
      STAGE: "production",
      ACME_MODEL: "acme-large-4-5",
    },
    environment: { EDITOR: "some-long-editor-name", GITHUB_TOKEN: "ghp_0123456789" },
  });
  const value = {
    path: "/home/me/project/a",
    url: "http://127.0.0.1:8080",
    n: 12345678,
    e: "some-long-editor-name in production",
  };
  const line = { text: JSON.stringify(value), value };
  expect(redactor.line(line)).toBe(line);
  expect(redactor.text("acme-large-4-5 is ready")).toBe("acme-large-4-5 is ready");
  expect(redactor.text("ghp_0123456789")).toBe(REDACTED);
  expect(openRedactor({ sessionEnv: { PASSPHRASE: "production" } }).text("production")).toBe(REDACTED);
  expect(openRedactor({ sessionEnv: { ANYTHING: "x7-unguessable" } }).text("x7-unguessable")).toBe(REDACTED);
});

test("the logger prints names and fields, and no value we hold", () => {
  const lines: string[] = [];
  const redactor = openRedactor({ token: "s3cret-token" });
  const logger = openLogger({ level: "info", redactor, destination: { write: (line) => lines.push(line) } });
  logger.debug("too.quiet");
  logger.info("process.started", { pid: 7, command: "run s3cret-token", error: new Error("s3cret-token") });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    msg: "process.started",
    pid: 7,
    command: `run ${REDACTED}`,
    error: REDACTED,
  });
});

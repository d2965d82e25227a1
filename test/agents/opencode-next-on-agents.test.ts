/**
 * OpenCode's newer API on the real Claude Code and the real Codex, each with a scripted model: a turn with a
 * permission, live and from the history. Run by `npm run test:agents -- opencode claude codex`.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import { answer, bash, text } from "../support/claude.ts";
import { calls, says } from "../support/codex-agent.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openCodeApi } from "../support/opencode-client.ts";
import { listenNext, type NextHeard } from "../support/opencode-next-client.ts";
import { claudeEnvironment, codexEnvironment, daemonFor, programs, trust } from "../support/real-daemon.ts";
import { describeNeeding } from "../support/requires.ts";

const { claude, codex } = programs;
const missing =
  claude === undefined || codex === undefined ? "not named; run: npm run test:agents -- opencode claude codex" : null;

const isStored = ({ type, durable }: NextHeard): boolean => durable !== undefined && type.startsWith("session.next.");
const opened = /\.(text|reasoning)\.started$|\.step\.started$|\.tool\.called$/;
const closed = /\.(text|reasoning)\.ended$|\.step\.(ended|failed)$|\.tool\.(success|failed)$/;

function workFolder(): { readonly folder: string; readonly directory: string } {
  const folder = temporaryFolder();
  const directory = join(folder, "work");
  mkdirSync(directory);
  return { folder, directory };
}

/** One prompt, its permission, its end; what was sent live is what the history has, and nothing stays open. */
async function turnOn(url: string, directory: string): Promise<readonly NextHeard[]> {
  await trust(url, directory);
  const base = `${url}/opencode`;
  const api = openCodeApi(base, { directory });
  const listener = await listenNext(`${base}/api/event`);
  const { body } = await api.post("/api/session", { location: { directory } });
  const session = `/api/session/${body.data.id}`;
  await api.post(`${session}/prompt`, { prompt: { text: "make a file" } });
  const { data: asked } = await listener.until(({ type }) => type === "permission.v2.asked");
  expect(asked.action).toBe("bash");
  expect((await api.post(`${session}/permission/${asked.id}/reply`, { reply: "once" })).status).toBe(204);
  await listener.until(({ type }) => type === "session.idle");
  const live = listener.heard.filter(isStored).map(({ at: _, location: __, ...event }) => event);
  const { body: history } = await api.get(`${session}/history?limit=100`);
  expect(history).toEqual({ data: live, hasMore: false });
  const count = (pattern: RegExp): number => live.filter(({ type }) => pattern.test(type)).length;
  expect(count(opened)).toBe(count(closed));
  const { body: messages } = await api.get(`${session}/message?order=asc`);
  expect(messages.data.map(({ type }: { type: string }) => type)).toEqual(["user", "assistant"]);
  return listener.heard;
}

describeNeeding("the newer API on real agents", { missing }, () => {
  test("Claude Code: a command that is asked about, and the answer", { timeout: 240_000 }, async () => {
    const { folder, directory } = workFolder();
    const turns = [answer(text("I make it.", 3), bash("touch made.txt")), answer(text("Done by Claude Code.", 3))];
    const model = await serveAnthropic({ turns });
    onTestFinished(() => model.close());
    const url = await daemonFor("claude", claudeEnvironment(folder, model.url), folder);
    const heard = await turnOn(url, directory);
    expect(heard.findLast(({ type }) => type === "session.next.text.ended")?.data.text).toBe("Done by Claude Code.");
  });

  test("Codex: a command that is asked about, and the answer", { timeout: 240_000 }, async () => {
    const { folder, directory } = workFolder();
    const input = { cmd: "touch made.txt", sandbox_permissions: "require_escalated", justification: "May I?" };
    const model = await serveOpenAi({ turns: [calls({ name: "exec_command", input }), says("Done by Codex.")] });
    onTestFinished(() => model.close());
    const url = await daemonFor("codex", codexEnvironment(folder, model.url), folder);
    const heard = await turnOn(url, directory);
    expect(heard.findLast(({ type }) => type === "session.next.text.ended")?.data.text).toBe("Done by Codex.");
  });
});

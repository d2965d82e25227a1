/**
 * A conversation taken back, again and again, to the beginning: the real Claude Code and the real Codex go on without
 * what was removed. Run by `npm run test:agents`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { ModelServer } from "../../src/model-server/serve.ts";
import { answer, text as said } from "../support/claude.ts";
import { says } from "../support/codex-agent.ts";
import { temporaryFolder } from "../support/folders.ts";
import { openCodeApi } from "../support/opencode-client.ts";
import { text } from "../support/opencode-surface.ts";
import { claudeEnvironment, codexEnvironment, daemonFor, programs, trust } from "../support/real-daemon.ts";
import { describeNeeding } from "../support/requires.ts";

const answers = ["One.", "Two.", "Three.", "Four.", "Five."];

const agents = {
  claude: {
    model: () => serveAnthropic({ turns: answers.map((words) => answer(said(words))) }),
    environment: claudeEnvironment,
  },
  codex: { model: () => serveOpenAi({ turns: answers.map((words) => says(words)) }), environment: codexEnvironment },
} as const;

async function openAgent(agent: keyof typeof agents) {
  const folder = temporaryFolder();
  const directory = join(folder, "work");
  mkdirSync(directory);
  execFileSync("git", ["init", "-q"], { cwd: directory });
  const model: ModelServer = await agents[agent].model();
  onTestFinished(() => model.close());
  const url = await daemonFor(agent, agents[agent].environment(folder, model.url), folder);
  await trust(url, directory);
  const api = openCodeApi(`${url}/opencode`, { directory });
  const { body: session } = await api.post("/session", {});
  const heard = () => JSON.stringify(model.requests.findLast(({ conversation }) => conversation === "main")?.body);
  return {
    /** Which of these words the model was given with the last prompt. */
    knows: (...words: string[]) => words.filter((word) => heard().includes(word)),
    ask: async (words: string): Promise<void> => {
      expect((await api.post(`/session/${session.id}/message`, text(words))).status).toBe(200);
    },
    undo: async (words: string): Promise<void> => {
      const { body: messages } = await api.get(`/session/${session.id}/message`);
      const found = messages.find(({ parts }: { parts: { text?: string }[] }) => parts[0]?.text === words);
      const undone = await api.post(`/session/${session.id}/revert`, { messageID: found.info.id });
      expect([undone.status, JSON.stringify(undone.body.data)]).toEqual([200, undefined]);
    },
  };
}

for (const agent of ["claude", "codex"] as const) {
  const missing = programs[agent] === undefined ? `run: npm run test:agents -- ${agent}` : null;
  describeNeeding(`a conversation of ${agent} that is taken back`, { missing }, () => {
    test("twice in a row, and to its beginning", async () => {
      const { ask, undo, knows } = await openAgent(agent);
      await ask("first apple");
      await ask("second banana");
      await undo("second banana");
      await ask("third cherry");
      expect(knows("apple", "banana", "cherry")).toEqual(["apple", "cherry"]);
      await undo("third cherry");
      await ask("fourth durian");
      expect(knows("apple", "banana", "cherry", "durian")).toEqual(["apple", "durian"]);
      await undo("first apple");
      await ask("fifth elder");
      expect(knows("apple", "banana", "cherry", "durian", "elder")).toEqual(["elder"]);
    });
  });
}

/**
 * The AI SDK with its OpenCode provider, on the mock and on the real Claude Code with a scripted model: `streamText`
 * and `generateText` give the agent's words, whole and in order. Run by
 * `npm run test:agents -- ai-sdk-opencode claude`.
 */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { generateText, type LanguageModel, streamText } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { answer, call, text } from "../support/claude.ts";
import { serve, startDaemon } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { describeNeeding } from "../support/requires.ts";

const provider = process.env.FRANCA_TEST_AI_SDK_OPENCODE;
const claude = process.env.FRANCA_TEST_CLAUDE;
const missing = provider === undefined ? "not named; run: npm run test:agents -- ai-sdk-opencode claude" : null;

type Provider = (model: string, settings?: object) => LanguageModel;

async function openProvider(baseUrl: string): Promise<Provider> {
  const main = join(dirname(provider ?? ""), "dist", "index.js");
  const { createOpencode, OpencodeClientManager } = await import(pathToFileURL(main).href);
  // All providers of a process share one client, which keeps the address it was first given.
  OpencodeClientManager.resetInstance();
  return createOpencode({ baseUrl, autoStartServer: false });
}

/** The kinds of parts, without repeats, and the words. */
async function streamed(model: LanguageModel, prompt: string) {
  const result = streamText({ model, prompt });
  const kinds: string[] = [];
  const deltas: string[] = [];
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") deltas.push(part.text);
    if (part.type !== kinds.at(-1)) kinds.push(part.type);
  }
  return { kinds, deltas, text: await result.text, finish: await result.finishReason, usage: await result.usage };
}

describeNeeding("the AI SDK's OpenCode provider", { missing }, () => {
  test("the mock: words as they come, tools between them, and a conversation of several turns", async () => {
    const daemon = await startDaemon();
    const model = (await openProvider(`${daemon.url}/opencode`))("mock/default", { cwd: daemon.directory });
    const echo = await streamed(model, "echo one two three");
    expect(echo).toMatchObject({ deltas: ["one", " two", " three"], text: "one two three", finish: "stop" });
    expect(echo.usage.outputTokens).toBe(3);
    expect((await streamed(model, "echo four")).text).toBe("four");
    const demo = await streamed(model, "demo");
    expect(demo.kinds.filter((kind) => kind.startsWith("tool-result"))).not.toEqual([]);
    expect(demo.text).toContain("I will read the file first.I will send somebody to look.# A heading");
    expect((await generateText({ model, prompt: "echo all at once" })).text).toBe("all at once");
  });

  test.skipIf(claude === undefined)("Claude Code: text, a tool, text", async () => {
    const folder = temporaryFolder();
    for (const name of ["bin", "work", "home"]) mkdirSync(join(folder, name));
    symlinkSync(claude ?? "", join(folder, "bin", "claude"));
    const readme = join(folder, "work", "README.md");
    writeFileSync(readme, "# Demo\n");
    const scripted = await serveAnthropic({
      turns: [
        answer(text("Let me look.", 3), call("Read", { file_path: readme })),
        answer(text("There is nothing here.", 4)),
      ],
    });
    onTestFinished(() => scripted.close());
    const system = (process.env.PATH ?? "").split(delimiter).filter((part) => !part.includes("node_modules"));
    const { url } = await serve({
      home: folder,
      args: ["--no-token", "--port", "0", "--default-agent", "claude"],
      env: {
        PATH: [join(folder, "bin"), ...system].join(delimiter),
        HOME: join(folder, "home"),
        ANTHROPIC_BASE_URL: scripted.url,
        ANTHROPIC_API_KEY: "dummy",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    });
    const model = (await openProvider(`${url}/opencode`))("claude/default", { cwd: join(folder, "work") });
    const result = await streamed(model, "What is here?");
    expect(result.text).toBe("Let me look.There is nothing here.");
    expect(result.deltas.length).toBeGreaterThan(2);
    expect(result.kinds).toContain("tool-result");
    expect(result.finish).toBe("stop");
  });
});

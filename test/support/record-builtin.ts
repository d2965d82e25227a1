/** Records the builtin agent for transcripts/builtin: scripted models, a person who answers as told, made-up time. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBuiltinAgent, readBuiltinConfig } from "../../src/builtin/index.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { type BuiltinHears, type BuiltinSays, isBuiltinHeard, isBuiltinLine } from "../../src/dialects/builtin.ts";
import { serveAnthropic } from "../../src/model-server/anthropic.ts";
import { serveOpenAi } from "../../src/model-server/openai.ts";
import type { BuiltinRecording } from "./builtin-scenario.ts";
import { plainOptions } from "./launch-options.ts";

export interface RecordedLine {
  readonly t: number;
  readonly from: "agent" | "host";
  readonly line: unknown;
}

const LINE_MS = 10;
const PERSON_MS = 500;

export async function recordBuiltin(
  recording: BuiltinRecording,
  { version }: { version: string },
): Promise<RecordedLine[]> {
  const { provider = "anthropic", mode = "bypass", config = {}, react, stuck = false } = recording;
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "franca-recording-")));
  writeFileSync(join(directory, "README.md"), "first line\nsecond line\n");
  const server = await (provider === "anthropic" ? serveAnthropic : serveOpenAi)(recording.script);
  const lines: RecordedLine[] = [];
  let t = 0;
  const redact = (line: unknown): unknown => JSON.parse(JSON.stringify(line).replaceAll(directory, "/workspace"));
  const waiting: { fits: (line: BuiltinSays) => boolean; resolve: () => void }[] = [];
  const agent = createBuiltinAgent({
    settings: readBuiltinConfig(
      {
        model: `${provider}/test-model`,
        provider: { [provider]: { kind: provider, baseURL: server.url, apiKey: "key" } },
        ...config,
      },
      { source: "recording" },
    ),
    version,
    loadHistory: async function* () {},
    environment: { PATH: process.env.PATH },
    outputs: join(directory, "outputs"),
    world: {
      random: () => 0,
      now: () => t,
      sleep: async (ms, signal) => {
        if (stuck)
          await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        t += ms;
      },
    },
  });
  const say = (line: BuiltinHears): void => {
    lines.push({ t, from: "host", line });
    peer.receive(line);
  };
  const onLine = (line: BuiltinSays): void => {
    // A person needs a moment; the agent goes on waiting.
    for (const reaction of react?.(line) ?? []) {
      t += PERSON_MS;
      say(reaction);
    }
    for (const one of [...waiting]) {
      if (!one.fits(line)) continue;
      waiting.splice(waiting.indexOf(one), 1);
      one.resolve();
    }
  };
  const peer = agent.open({
    options: { ...options, directory, permission_mode: mode },
    emit: (line) => {
      t += LINE_MS;
      lines.push({ t, from: "agent", line: redact(line) });
      if (isBuiltinLine(line) && !isBuiltinHeard(line)) queueMicrotask(() => onLine(line));
      return true;
    },
    drained: () => Promise.resolve(),
    exit: () => {},
    signal: new AbortController().signal,
  });
  const heard = (type: BuiltinSays["type"]) =>
    new Promise<void>((resolve) => waiting.push({ fits: (line) => line.type === type, resolve }));
  await heard("session");
  for (const prompt of recording.prompts) {
    t += PERSON_MS;
    const line: BuiltinHears = typeof prompt === "string" ? { type: "prompt", text: prompt, attachments: [] } : prompt;
    const done = heard(line.type === "set" ? "changed" : "end");
    say(line);
    await done;
  }
  await server.close();
  rmSync(directory, { recursive: true, force: true });
  return lines;
}

const options: LaunchOptions = { ...plainOptions, session_id: "demo", directory: "", permission_mode: "bypass" };

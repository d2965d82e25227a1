/** An agent's trial made real: the scripted model it talks to, and the files it finds at its start. */
import { mkdirSync, writeFileSync } from "node:fs";
import type { Trial, TrialSetup } from "../core/trial.ts";
import { serveAnthropic } from "../model-server/anthropic.ts";
import { serveGemini } from "../model-server/gemini.ts";
import { serveOpenAi } from "../model-server/openai.ts";
import type { Script, ScriptTurn } from "../model-server/script.ts";
import type { ModelServer } from "../model-server/serve.ts";

const LAST = "A small demo project.\n";
const ADDED = "One more line.\n";
/** What the README says before and after. */
export const README = `# Demo\n\n${LAST}`;
export const CHANGED = README + ADDED;

/** The model does what its script says, whatever the words are. */
const PROMPT = "Read README.md and add a line at the end.";

export const promptOf = ({ pretence }: Trial): string => pretence ?? PROMPT;

export const servers = { anthropic: serveAnthropic, gemini: serveGemini, openai: serveOpenAi } as const;

/** `file` is the path of the README. */
export function serveModel(trial: Trial, { file }: { readonly file: string }): Promise<ModelServer> {
  const calls = trial.calls({ file, last: LAST, added: ADDED });
  const turns = calls.map(({ name, input }): ScriptTurn => {
    return { type: "answer", blocks: [{ type: "tool_call", name, input, chunks: 2 }] };
  });
  return servers[trial.model](scriptFor(trial, [...turns, done]));
}

const done: ScriptTurn = {
  type: "answer",
  blocks: [
    { type: "thinking", text: "That was all.", chunks: 2 },
    { type: "text", text: "Done: README.md has one more line.", chunks: 3 },
  ],
};

/** The turns of a conversation, with what the agent asks beside it. */
export const scriptFor = ({ side = [] }: Trial, turns: readonly ScriptTurn[]): Script => ({
  turns,
  side: side.map(({ name, systemContains, answer }) => ({
    name,
    match: { systemContains },
    turns: [{ type: "answer", blocks: [{ type: "text", text: answer }] }],
  })),
});

/** Writes what the agent reads at its start, and returns its environment. */
export function prepare({ env, folders = [], files = {} }: TrialSetup): Readonly<Record<string, string>> {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) writeFileSync(path, content);
  return env;
}

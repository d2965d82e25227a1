/** Real ACP agents behind the real runtime, each with a home of its own and a scripted model on loopback. */
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setup as claudeSetup } from "../../src/adapters/claude/trial.ts";
import { adapterFor } from "../../src/adapters/index.ts";
import { setup as openCodeSetup } from "../../src/adapters/opencode/trial.ts";
import { prepare, servers } from "../../src/cli/doctor-trial.ts";
import type { Trial, TrialPlace, TrialSetup } from "../../src/core/trial.ts";
import type { Script, ScriptTurn, SideConversation } from "../../src/model-server/script.ts";
import { hasCode } from "../../src/protocol/errors.ts";
import type { UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { eventsAfter, open, removeFolder } from "./sessions.ts";

export interface RealAgent {
  readonly agent: string;
  readonly model: Trial["model"];
  /** A tool that only the conversation itself offers: other requests are titles and the like. */
  readonly ownTool: string;
  readonly setup: (place: TrialPlace) => TrialSetup;
  readonly edit: (file: string) => readonly Tool[];
  readonly command: (command: string) => Tool;
  /** How its model calls a tool of an MCP server. */
  readonly mcp: (server: string, tool: string, input: object) => Tool;
  /** What a refusal of a command leads to. */
  readonly rejected: "completed" | "rejected";
  /** It loses sessions that are loaded again within the minute in which they began. */
  readonly forgets?: true;
  /** It serves the draft of version 2. */
  readonly drafts?: true;
}

interface Tool {
  readonly name: string;
  readonly input: unknown;
}

export const BEFORE = "A small project.";
export const AFTER = "A small, tidy project.";

/** What the doctor prepares for the agent. */
const trialSetup =
  (agent: string) =>
  (place: TrialPlace): TrialSetup => {
    const trial = adapterFor(agent)?.trial;
    if (trial == null) throw new Error(`The doctor does not try ${agent}.`);
    return trial.setup(place);
  };

export const realAgents: readonly RealAgent[] = [
  {
    agent: "claude-acp",
    model: "anthropic",
    ownTool: "Edit",
    setup: claudeSetup,
    edit: (file) => [
      { name: "Read", input: { file_path: file } },
      { name: "Edit", input: { file_path: file, old_string: BEFORE, new_string: AFTER } },
    ],
    command: (command) => ({ name: "Bash", input: { command, description: "Run a command" } }),
    mcp: (server, tool, input) => ({ name: `mcp__${server}__${tool}`, input }),
    rejected: "completed",
    drafts: true,
  },
  {
    agent: "opencode-acp",
    model: "openai",
    ownTool: "edit",
    setup: (place) => openCodeSetup(place, { permission: { edit: "ask", bash: "ask" } }),
    edit: (file) => [
      { name: "read", input: { filePath: file } },
      { name: "edit", input: { filePath: file, oldString: BEFORE, newString: AFTER } },
    ],
    command: (command) => ({ name: "bash", input: { command, description: "Run a command" } }),
    mcp: (server, tool, input) => ({ name: `${server}_${tool}`, input }),
    rejected: "rejected",
  },
  {
    agent: "qwen",
    model: "openai",
    ownTool: "edit",
    setup: trialSetup("qwen"),
    edit: (file) => [
      { name: "read_file", input: { file_path: file } },
      { name: "edit", input: { file_path: file, old_string: BEFORE, new_string: AFTER } },
    ],
    command: (command) => ({ name: "run_shell_command", input: { command, is_background: false } }),
    // Its model sees such tools by a search only, and calls them through another one.
    mcp: (server, tool, input) => ({
      name: "tool_call",
      input: { name: `mcp__${server}__${tool}`, arguments: input },
    }),
    rejected: "rejected",
  },
  {
    agent: "grok",
    model: "openai",
    ownTool: "search_replace",
    setup: trialSetup("grok"),
    edit: (file) => [
      { name: "read_file", input: { target_file: file } },
      { name: "search_replace", input: { file_path: file, old_string: BEFORE, new_string: AFTER } },
    ],
    // It asks only for commands that it finds unsafe.
    command: (command) => ({
      name: "run_terminal_command",
      input: { command: `rm -f old.txt; ${command}`, description: "Run a command" },
    }),
    mcp: (server, tool, tool_input) => ({ name: "use_tool", input: { tool_name: `${server}__${tool}`, tool_input } }),
    rejected: "rejected",
  },
  {
    agent: "gemini",
    model: "gemini",
    ownTool: "replace",
    setup: trialSetup("gemini"),
    edit: (file) => [
      { name: "read_file", input: { file_path: file } },
      { name: "replace", input: { file_path: file, instruction: "Tidy", old_string: BEFORE, new_string: AFTER } },
    ],
    command: (command) => ({ name: "run_shell_command", input: { command, description: "Run a command" } }),
    mcp: (server, tool, input) => ({ name: `mcp_${server}_${tool}`, input }),
    rejected: "completed",
    forgets: true,
  },
  {
    agent: "kimi",
    model: "openai",
    ownTool: "Edit",
    setup: trialSetup("kimi"),
    edit: (file) => [
      { name: "Read", input: { path: file } },
      { name: "Edit", input: { path: file, old_string: BEFORE, new_string: AFTER } },
    ],
    command: (command) => ({ name: "Bash", input: { command, description: "Run a command" } }),
    mcp: (server, tool, input) => ({ name: `mcp__${server}__${tool}`, input }),
    rejected: "completed",
  },
];

export const says = (text: string): ScriptTurn => ({ type: "answer", blocks: [{ type: "text", text, chunks: 2 }] });
export const calls = (tool: Tool): ScriptTurn => ({ type: "answer", blocks: [{ type: "tool_call", ...tool }] });
/** In small pieces with pauses, so that there is time to do something meanwhile. */
export const slowly: ScriptTurn = {
  type: "answer",
  blocks: [{ type: "text", text: "A long story. ".repeat(60), chunks: 400 }],
  chunkDelayMs: 50,
};

export interface Real {
  readonly sessions: Sessions;
  readonly work: string;
  readonly create: (
    name: string,
    variables?: Readonly<Record<string, string>>,
    options?: Partial<CreateSession>,
  ) => Promise<SessionId>;
  /** What the model was sent, as text. */
  readonly requests: () => readonly string[];
  readonly reopen: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface RealOptions {
  readonly program: string;
  /** The Node that the agent runs on. */
  readonly node: string;
  /** What the model says, by a word of the prompt. */
  readonly scripts: (work: string) => Readonly<Record<string, readonly ScriptTurn[]>>;
}

export async function openReal(real: RealAgent, { program, node, scripts }: RealOptions): Promise<Real> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `franca-${real.agent}-`)));
  const [work, tools] = [join(folder, "work"), join(folder, "tools")];
  const adapter = adapterFor(real.agent);
  if (adapter?.binary == null) throw new Error(`There is no agent ${real.agent}.`);
  const programs = join(tools, real.agent, "node_modules", ".bin");
  for (const path of [work, programs]) mkdirSync(path, { recursive: true });
  symlinkSync(program, join(programs, adapter.binary.name));
  writeFileSync(join(work, "README.md"), `# Demo\n\n${BEFORE}\n`);
  const server = await servers[real.model](scriptOf(real, scripts(work)));
  const env = {
    ...prepare(real.setup({ folder, url: server.url })),
    PATH: `${dirname(node)}:${process.env.PATH ?? ""}`,
  };
  const start = (): Promise<Sessions> => open(join(folder, "data"), { adapters: [adapter], toolsFolder: tools });
  let sessions = await start();
  return {
    get sessions() {
      return sessions;
    },
    work,
    async create(name, variables = {}, options = {}) {
      const id = sessionId(name);
      await sessions.create(id, { agent: real.agent, directory: work, env: { ...env, ...variables }, ...options });
      return id;
    },
    requests: () => server.requests.map(({ body }) => JSON.stringify(body)),
    async reopen() {
      await sessions.close();
      sessions = await start();
    },
    async close() {
      await sessions.close();
      await server.close();
      removeFolder(folder);
    },
  };
}

function scriptOf({ ownTool }: RealAgent, scripts: Readonly<Record<string, readonly ScriptTurn[]>>): Script {
  const aside: SideConversation = { name: "aside", match: { lacksTool: ownTool }, turns: [says("A title")] };
  const byWord = Object.entries(scripts).map(
    ([word, turns]): SideConversation => ({ name: word, match: { messageContains: word }, turns }),
  );
  return { turns: [says("Hello.")], side: [aside, ...byWord] };
}

type Reply = "once" | "always" | "reject";

export interface Ran {
  readonly events: readonly UniversalEvent[];
  readonly reason: string;
  readonly evidence: string;
  readonly text: string;
  readonly asked: number;
}

/** One turn. `during` is called with every event. */
export async function ran(
  { sessions }: Real,
  id: SessionId,
  { text, reply = "once", during }: { text: string; reply?: Reply; during?: (event: UniversalEvent) => Promise<void> },
): Promise<Ran> {
  const { sequence } = await sessions.prompt(id, { text });
  const events: UniversalEvent[] = [];
  let asked = 0;
  for await (const event of eventsAfter(sessions, id, { after: sequence })) {
    events.push(event);
    await during?.(event);
    if (event.type === "permission.requested") {
      asked += 1;
      // What stops the turn withdraws the request.
      await sessions.replyPermission(id, event.data.permission_id, { reply }).catch((error: unknown) => {
        if (!hasCode(error, "already_answered")) throw error;
      });
    }
    if (event.type !== "turn.ended") continue;
    const said = events.map((one) => (one.type === "item.delta" && one.data.part === "text" ? one.data.delta : ""));
    return { events, reason: event.data.reason, evidence: event.data.evidence, text: said.join(""), asked };
  }
  throw new Error("The stream ended before the turn did.");
}

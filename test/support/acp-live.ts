/** Sessions of the scripted ACP agent (`fake-acp.js`) in the real runtime. */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";
import { acpAgents } from "../../src/adapters/acp/agents/index.ts";
import type { EventOf, UniversalEvent } from "../../src/protocol/events.ts";
import { type SessionId, sessionId } from "../../src/protocol/ids.ts";
import type { CreateSession } from "../../src/protocol/resources.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { Sessions } from "../../src/runtime/session/contract.ts";
import { eventsAfter, open, removeFolder, tempFolder } from "./sessions.ts";
import { root } from "./transcripts.ts";

export interface AcpLive {
  readonly sessions: Sessions;
  readonly folder: string;
  /** Where the sessions work. */
  readonly work: string;
  readonly create: (name: string, options?: Partial<CreateSession>) => Promise<SessionId>;
  /** Opens the same store again, as after a restart. */
  readonly reopen: () => Promise<Sessions>;
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export const fakeCommand = `${process.execPath} ${join(root, "test/support/fake-acp.js")}`;

export async function openAcp(more: Partial<RuntimeOptions> = {}): Promise<AcpLive> {
  const folder = realpathSync(tempFolder());
  const work = join(folder, "work");
  mkdirSync(work);
  writeFileSync(join(work, "README.md"), "# Demo\n");
  const toolsFolder = join(folder, "tools");
  const start = (): Promise<Sessions> => open(join(folder, "data"), { adapters: acpAgents, toolsFolder, ...more });
  installFake(join(toolsFolder, "gemini/node_modules/.bin"), "gemini");
  let sessions = await start();
  closing.push(async () => {
    await sessions.close();
    removeFolder(folder);
  });
  return {
    get sessions() {
      return sessions;
    },
    folder,
    work,
    async create(name, { env = {}, ...options } = {}) {
      const id = sessionId(name);
      const named = { FRANCA_ACP_COMMAND: fakeCommand, ...env };
      await sessions.create(id, { agent: "acp", directory: work, env: named, ...options });
      return id;
    },
    async reopen() {
      await sessions.close();
      sessions = await start();
      return sessions;
    },
  };
}

/** The scripted agent under the name of a real one. */
function installFake(programs: string, name: string): void {
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, name), `#!/bin/sh\nexec ${fakeCommand}\n`, { mode: 0o755 });
}

type Reply = "once" | "always" | "reject";

export interface Played {
  readonly events: UniversalEvent[];
  readonly text: string;
  readonly end: EventOf<"turn.ended">["data"];
  /** What was asked, by its action and its pattern. */
  readonly asked: readonly string[];
}

/** Runs one turn; every permission is answered as told, every question with its first option. */
export async function play(
  { sessions }: AcpLive,
  id: SessionId,
  { steps, reply = "once" }: { steps: readonly string[]; reply?: Reply },
): Promise<Played> {
  const { sequence } = await sessions.prompt(id, { text: steps.join("\n") });
  const events: UniversalEvent[] = [];
  const asked: string[] = [];
  for await (const event of eventsAfter(sessions, id, { after: sequence })) {
    events.push(event);
    if (event.type === "permission.requested") {
      asked.push(`${event.data.action} ${event.data.metadata.patterns.join(" ")}`);
      await sessions.replyPermission(id, event.data.permission_id, { reply });
    }
    if (event.type === "question.requested") {
      const first = event.data.questions[0]?.options[0]?.label ?? "";
      await sessions.replyQuestion(id, event.data.question_id, [[first]]);
    }
    if (event.type === "turn.ended") return { events, text: textOf(events), end: event.data, asked };
  }
  throw new Error("The stream ended before the turn did.");
}

/** What the agent said, piece by piece. */
const textOf = (events: readonly UniversalEvent[]): string =>
  events
    .flatMap((event) => (event.type === "item.delta" && event.data.part === "text" ? [event.data.delta] : []))
    .join("|");

/**
 * The server of an agent that serves HTTP, for what concerns the machine and not a conversation. It is the one that
 * sessions of the agent in trusted folders use: what is changed there counts for them.
 */
import type { Adapter } from "../../core/adapter.ts";
import type { LaunchOptions } from "../../core/launch.ts";
import { ApiError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/ids.ts";
import type { Receiver } from "../agent/connection/contract.ts";
import { openHttp } from "../agent/connection/http.ts";
import { type SharedConnection, sharingKey } from "../agent/connection/shared.ts";
import { childEnvironment } from "../agent/environment.ts";
import type { AgentServer, Sessions } from "./contract.ts";
import { adapterOf, cannot } from "./refusals.ts";
import type { Runtime } from "./runtime.ts";

/** Not used for so long, it is left; it ends when no session uses it either. */
const IDLE_MS = 600_000;

interface Member {
  readonly server: AgentServer;
  readonly connection: SharedConnection;
  readonly gone: AbortController;
  idle: NodeJS.Timeout | undefined;
}

export interface AgentServers extends Pick<Sessions, "agentServer"> {
  readonly close: () => Promise<void>;
}

export function openAgentServers(runtime: Runtime): AgentServers {
  const members = new Map<string, Promise<Member>>();
  const leave = async (agent: string): Promise<void> => {
    const member = await members.get(agent)?.catch(() => null);
    members.delete(agent);
    if (member === undefined || member === null) return;
    clearTimeout(member.idle);
    member.gone.abort();
    await member.connection.leave();
  };
  return {
    async agentServer(agent, { directory, onLine }) {
      const known = members.get(agent);
      const opening = known ?? join(runtime, { agent, directory, onLine, onGone: () => members.delete(agent) });
      members.set(agent, opening);
      try {
        const member = await opening;
        clearTimeout(member.idle);
        member.idle = setTimeout(() => void leave(agent), IDLE_MS).unref();
        return member.server;
      } catch (error) {
        members.delete(agent);
        throw error;
      }
    },
    close: async () => {
      await Promise.all([...members.keys()].map(leave));
    },
  };
}

interface Joining {
  readonly agent: string;
  readonly directory: string;
  readonly onLine: (line: unknown) => void;
  readonly onGone: () => void;
}

async function join(runtime: Runtime, { agent, directory, onLine, onGone }: Joining): Promise<Member> {
  const { pool, runs, ladder, logger, trust, fileView } = runtime;
  const adapter = adapterOf(runtime, agent);
  if (!trust.isTrusted(directory)) {
    throw new ApiError("folder_not_trusted", `${directory} is not trusted: franca trust add ${directory}`);
  }
  const options = optionsFor(runtime, { adapter, directory });
  if (options.binary === null) throw new ApiError("agent_not_installed", `${adapter.name} is not installed.`);
  const launch = adapter.launch(options);
  const key = sharingKey({ agent, launch, env: {} });
  if (launch.kind !== "http" || key === null) throw cannot(adapter, "be asked outside its sessions");
  const gone = new AbortController();
  const session = sessionId(`${agent}-server`);
  const receiver: Receiver = {
    receive(heard) {
      if (heard.type === "disconnected") {
        gone.abort();
        onGone();
      }
      return true;
    },
  };
  const environmentFor = ({ runId, launch: asked }: { runId: string; launch: Readonly<Record<string, string>> }) => {
    const { passEnv: pass = [] } = runtime.options;
    const owns = adapter.ownsVariable;
    return childEnvironment({
      inherited: process.env,
      pass,
      owns,
      launch: asked,
      session: {},
      sessionId: session,
      runId,
    });
  };
  const view = fileView.open({ session, agent: adapter, shared: true });
  const open = (heard: Receiver) =>
    openHttp(launch, { session, options, receiver: heard, environmentFor, runs, view, ladder, logger });
  const { connection } = await pool.join({ session, adapter, key, receiver, onLine, thread: null, open, logger });
  const { address } = connection;
  if (address === undefined) throw cannot(adapter, "be asked outside its sessions");
  return { server: { ...address, gone: gone.signal }, connection, gone, idle: undefined };
}

/** As a session in a trusted folder that asks for nothing of its own. */
function optionsFor(
  { binaries, trust }: Runtime,
  { adapter, directory }: { adapter: Adapter; directory: string },
): LaunchOptions {
  return {
    session_id: `${adapter.agent}-server`,
    directory,
    folder: adapter.folder === null ? null : trust.factsOf(directory, adapter.folder.lookFor),
    resume: null,
    fork: false,
    fork_at: null,
    model: null,
    variant: null,
    mode: null,
    permission_mode: "default",
    system_prompt: null,
    mcp: {},
    env: {},
    binary: binaries.find(adapter),
    prompt: null,
    inherited: binaries.environment(adapter),
    asRoot: false,
  };
}

/** An agent that speaks JSON lines on its pipes: one process, for one session, one turn, or several sessions. */
import type { Send } from "../../../core/agent-io.ts";
import { unreachable } from "../../../core/fold.ts";
import type { Launch } from "../../../core/launch.ts";
import { fullView } from "../file-view.ts";
import { type Host, openHost } from "../host/host.ts";
import { closeOutputPipe, openOutputPipe } from "../output-pipe.ts";
import { type AgentProcess, startProcess } from "../process.ts";
import type { Connection, Heard, Opening } from "./contract.ts";
import { overlong } from "./parse-line.ts";
import { prepareProgram } from "./prepare-program.ts";

const SIGNALS = { interrupt: "SIGINT", terminate: "SIGTERM", kill: "SIGKILL" } as const;

export async function openPipe(launch: Extract<Launch, { kind: "process" }>, opening: Opening): Promise<Connection> {
  const { session, options, receiver, environmentFor, runs, ladder, logger, dataFolder = null } = opening;
  const [runId, output] = await Promise.all([runs.begin(session), openOutputPipe()]);
  let agent: AgentProcess | null = null;
  const host = openHost({
    directory: options.directory,
    folder: options.folder,
    dataFolder,
    view: opening.view ?? fullView,
    environmentFor,
    begin: () => runs.begin(session),
    runs,
    answer: (id, { status, body }) => void receiver.receive({ type: "response", id, status, body }),
  });
  const hear = (heard: Heard): void => {
    if (!receiver.receive(heard)) agent?.pause();
  };
  try {
    agent = startProcess({
      ...(await prepareProgram(launch, opening, { runId })),
      output,
      onText: (text) => hear({ type: "text", text }),
      onOverlong: (line) => hear(overlong(line)),
      onExit(exit) {
        logger.info("process.exited", { session, pid: agent?.pid, code: exit.code, signal: exit.signal });
        runs.ended(runId);
        void host.stop();
        receiver.receive({ type: "disconnected", exit });
      },
      onStuck: (pids) => logger.error("process.stuck", { session, pids }),
    });
  } catch (error) {
    if (output !== null) closeOutputPipe(output);
    runs.ended(runId);
    throw error;
  }
  const { pid, started, write, closeInput, signal, resume, stop } = agent;
  if (pid !== null && started !== null) {
    runs.started(runId, { pid, started });
    logger.info("process.started", { session, pid, command: launch.command });
  }
  return {
    perform: (send) => perform({ write, closeInput, signal, host }, send),
    resume,
    async stop(rungs = ladder) {
      await Promise.all([host.stop(), stop(rungs)]);
    },
  };
}

interface Ways extends Pick<AgentProcess, "write" | "closeInput" | "signal"> {
  readonly host: Host;
}

function perform({ write, closeInput, signal, host }: Ways, send: Send): void {
  switch (send.type) {
    case "send.line":
      return write(`${JSON.stringify(send.line)}\n`);
    case "send.signal":
      return signal(SIGNALS[send.signal]);
    case "send.close":
      return closeInput();
    case "send.host":
      return host.perform(send.id, send.call);
    case "send.request":
      // A pipe has no requests: an adapter that asks for one has a launch of another kind.
      return;
    default:
      return unreachable(send);
  }
}

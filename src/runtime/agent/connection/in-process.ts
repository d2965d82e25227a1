/** An agent that is a function in this process: it says lines and hears lines like any other. */
import type { Exit, Send } from "../../../core/agent-io.ts";
import { defined } from "../../../core/defined.ts";
import { unreachable } from "../../../core/fold.ts";
import type { InProcessAgent, InProcessPeer } from "../../../core/in-process.ts";
import { endTree, SWEEP_LADDER } from "../process-tree.ts";
import { type Connection, noExit, type Opening } from "./contract.ts";

export async function openInProcess(agent: InProcessAgent, opening: Opening): Promise<Connection> {
  const { options, receiver } = opening;
  const stopping = new AbortController();
  const trees = openTrees(opening);
  let open = true;
  let behind = false;
  let drained: (() => void)[] = [];

  const release = (): void => {
    behind = false;
    const waiting = drained;
    drained = [];
    for (const resolve of waiting) resolve();
  };
  const end = (exit: Exit): void => {
    if (!open) return;
    open = false;
    release();
    receiver.receive({ type: "disconnected", exit });
  };

  const peer = agent.open({
    options,
    // What is said after the end is said to nobody; it must not wait for anybody either.
    emit(line) {
      if (!open) return true;
      // Encoded here and now: the agent may change the object afterwards, and the log needs the text anyway.
      if (!receiver.receive({ type: "line", value: line, text: JSON.stringify(line) })) behind = true;
      return !behind;
    },
    drained: () => (behind && open ? new Promise((resolve) => drained.push(resolve)) : Promise.resolve()),
    exit(exit) {
      void trees.endAll();
      end(exit);
    },
    signal: stopping.signal,
    processes: trees,
    ...defined({ view: opening.view }),
  });

  const stop = async (): Promise<void> => {
    stopping.abort();
    await trees.endAll();
    end(noExit);
  };
  return { perform: (send) => perform(peer, { send, stop }), resume: release, stop };
}

/** Process trees that the agent starts are ours to end when the connection is. */
function openTrees({ runs, session, logger }: Opening) {
  const open = new Set<string>();
  return {
    async begin(): Promise<string> {
      const runId = await runs.begin(session);
      open.add(runId);
      return runId;
    },
    ended(runId: string): void {
      open.delete(runId);
      runs.ended(runId);
    },
    async endAll(): Promise<void> {
      const ending = [...open].map((runId) => endTree({ runId, leader: null, ours: false }, SWEEP_LADDER));
      const stuck = (await Promise.all(ending)).flat();
      if (stuck.length > 0) logger.warn("process.stuck", { session, pids: stuck });
    },
  };
}

function perform(peer: InProcessPeer, { send, stop }: { send: Send; stop: () => Promise<void> }): void {
  switch (send.type) {
    case "send.line":
      return peer.receive(send.line);
    case "send.signal":
    case "send.close":
      void stop();
      return;
    case "send.request":
    case "send.host":
      return;
    default:
      return unreachable(send);
  }
}

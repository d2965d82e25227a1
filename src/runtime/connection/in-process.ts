/** An agent that is a function in this process: it says lines and hears lines like any other. */
import type { Exit, InProcessAgent, InProcessPeer, Send } from "../../core/adapter.ts";
import { unreachable } from "../../core/fold.ts";
import { type Connection, noExit, type Opening } from "./contract.ts";

export async function openInProcess(agent: InProcessAgent, { options, listener }: Opening): Promise<Connection> {
  const stopping = new AbortController();
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
    listener.hear({ type: "disconnected", exit });
  };

  const peer = agent({
    options,
    // What is said after the end is said to nobody; it must not wait for anybody either.
    emit(line) {
      if (!open) return true;
      // Encoded here and now: the agent may change the object afterwards, and the log needs the text anyway.
      if (!listener.hear({ type: "line", value: line, text: JSON.stringify(line) })) behind = true;
      return !behind;
    },
    drained: () => (behind && open ? new Promise((resolve) => drained.push(resolve)) : Promise.resolve()),
    exit: end,
    signal: stopping.signal,
  });

  const stop = async (): Promise<void> => {
    stopping.abort();
    end(noExit);
  };
  return { perform: (send) => perform(peer, { send, stop }), resume: release, stop };
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
      return;
    default:
      return unreachable(send);
  }
}

/** OpenCode ⇄ reports, one fold for both directions: events and answers in, requests out. */
import type { AdapterInput, Send } from "../../core/agent-io.ts";
import { type Fold, unreachable } from "../../core/fold.ts";
import type { Report } from "../../core/report.ts";
import { type OpenCodeLine, payloadOf } from "../../dialects/opencode-stream.ts";
import { onConnected, onHeartbeat, onResponse, onStreamOpened } from "./connect.ts";
import { encode } from "./encode.ts";
import { onPayload } from "./events.ts";
import { onRequestSeen } from "./overheard.ts";
import { type State, startState } from "./state.ts";

type Out = (Report | Send)[];

export const adapter: Fold<AdapterInput<OpenCodeLine>, Report | Send, State> = {
  start: startState,
  step(state, input) {
    switch (input.type) {
      case "line":
        return onLine(state, input);
      case "command":
        return encode(state, input.command);
      case "connected":
        return onConnected(state, input.options);
      case "disconnected":
        return [];
      case "response":
        return onResponse(state, input);
      case "tick":
        return [];
      default:
        return unreachable(input);
    }
  },
};

function onLine(state: State, { line, at }: { line: OpenCodeLine; at: number }): Out {
  if ("request" in line) return onRequestSeen(state, line.request);
  if ("response" in line) return onResponse(state, { body: null, ...line.response, at });
  const payload = payloadOf(line);
  if (payload.type === "server.connected") return onStreamOpened(state);
  return payload.type === "server.heartbeat" ? onHeartbeat(state) : onPayload(state, { payload, at });
}

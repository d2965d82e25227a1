/** Codex, by its app-server: JSON-RPC on stdio, one process for all sessions of one environment. */
import { defineAdapter } from "../../core/adapter.ts";
import { isRpcLine, nextExpiry, type RpcLine } from "../../core/rpc.ts";
import { answeredRequests, isCodexNotification, translatedNotifications } from "../../dialects/codex.ts";
import { capabilities, launch, modes } from "./launch.ts";
import { models } from "./models.ts";
import { route } from "./route.ts";
import { refusedRequests, silentNotifications } from "./silent.ts";
import { adapter } from "./translate.ts";
import { trial } from "./trial.ts";

export const codex = defineAdapter({
  agent: "codex",
  name: "Codex",
  // The envelope only: what a method must carry is checked in the fold, which must be able to refuse any request.
  isNative: isRpcLine,
  recognises,
  adapter,
  deltas: { varying: [["delta", "emittedAtMs"], ["delta"]] },
  wakeAt: ({ rpc }) => nextExpiry(rpc),
  launch,
  capabilities,
  folder: { lookFor: [] },
  binary: {
    name: "codex",
    versionArgs: ["--version"],
    install: {
      kind: "npm",
      package: "@openai/codex",
      version: "0.166.0",
      fallbacks: ["@openai/codex/bin/codex.js"],
    },
  },
  environment: { prefixes: ["OPENAI_", "CODEX_"] },
  credentials: { variables: ["OPENAI_API_KEY", "CODEX_API_KEY"], files: [".codex/auth.json"] },
  modes,
  models,
  trial,
  // A turn that has ended; those of subagents name the turn they belong to.
  placeOf(line) {
    if (!isRpcLine(line) || !isCodexNotification(line) || line.method !== "turn/completed") return null;
    const { id, rootTurnId } = line.params.turn;
    return (rootTurnId ?? id) === id ? id : null;
  },
  resumeCommand: (id) => `codex resume ${id}`,
  route,
});

const methods: ReadonlySet<string> = new Set([
  ...translatedNotifications,
  ...Object.keys(silentNotifications),
  ...answeredRequests,
  ...Object.keys(refusedRequests),
  "thread/start",
  "thread/resume",
  "turn/start",
]);

/** Codex leaves out the `jsonrpc` field and has methods of its own. */
function recognises(value: unknown): boolean {
  if (!isRpcLine(value) || "jsonrpc" in value) return false;
  return value.method === undefined ? isHello(value) : methods.has(value.method) && value.method !== "error";
}

const isHello = ({ result }: RpcLine): boolean =>
  typeof result === "object" && result !== null && "codexHome" in result;

/** Ships with Franca: runs a command when a turn ends, with what happened in its environment. */
import { spawn } from "node:child_process";
import type { HookInput, Plugin } from "./hooks.ts";

/** A notification that hangs is ended; nobody waits for it. */
const NOTIFY_MS = 5_000;

export const notify: Plugin = (_context, options) => {
  const { command } = options;
  if (typeof command !== "string" || command === "") {
    throw new Error('The notify plugin needs its command: ["notify", {"command": "…"}].');
  }
  return {
    "turn.ended": (ended: HookInput<"turn.ended">) => {
      const child = spawn("/bin/sh", ["-c", command], {
        stdio: "ignore",
        timeout: NOTIFY_MS,
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          FRANCA_SESSION: ended.sessionID,
          FRANCA_TURN: ended.turnID,
          FRANCA_REASON: ended.reason,
          FRANCA_ERROR: ended.error ?? "",
        },
      });
      // The turn is over whether or not the command could be started.
      child.on("error", () => undefined);
    },
  };
};

/** Why the CLI would not start, which only stderr shows: an error message that says what to do. */
import type { Exit } from "../../core/agent-io.ts";
import type { ErrorInfo } from "../../protocol/events.ts";
import { ROOT_REFUSED } from "./end.ts";

export function explainExit(exit: Exit): ErrorInfo | null {
  if (exit.code === null || exit.code === 0 || exit.stderr === undefined) return null;
  const text = `${exit.stderr.head}\n${exit.stderr.tail}`;
  const known = reasons.find(({ pattern }) => pattern.test(text));
  if (known === undefined) return null;
  const details = { exit_code: exit.code, signal: exit.signal, stderr: exit.stderr };
  return { message: known.message, code: known.code, details };
}

const reasons = [
  { pattern: /cannot be used with root|root\/sudo privileges/, code: "bypass_root", message: ROOT_REFUSED },
  {
    pattern: /unknown option/,
    code: "agent_version",
    message:
      "The installed Claude Code does not know an option we need: it is too old. Install a newer one with " +
      "`franca agents install claude`.",
  },
  {
    pattern: /Session ID \S+ is already in use/,
    code: "native_session_in_use",
    message: "Another Claude Code process holds this conversation. End that process, or start a new session.",
  },
] as const;

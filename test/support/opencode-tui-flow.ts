/**
 * OpenCode's real TUI on the scripted agent, from attaching to the list of sessions: what is drawn is what is checked.
 * Screens are kept in test-output/opencode-tui.
 */
import { test } from "vitest";
import { clientOf, startGuarded } from "./credentials.ts";
import type { TestDaemon } from "./daemon.ts";
import { openCodeApi } from "./opencode-client.ts";
import { missing, openTui, program, submit } from "./opencode-tui.ts";
import { describeNeeding } from "./requires.ts";
import type { Terminal } from "./terminal.ts";

const FLOW_MS = 120_000;
const START_MS = 60_000;

export const describeTui = (): void =>
  describeNeeding("OpenCode's TUI on the mock", { missing }, () => {
    test("draws a turn, dialogs, an abort, a compaction, other sessions, and what waits for a late client", {
      timeout: FLOW_MS,
    }, async () => {
      const daemon = await startGuarded();
      // As `franca opencode` starts it: with a credential for the folder, not with the token.
      const { secret } = await daemon.issue(clientOf(daemon.directory));
      const terminal = openTui({ program, url: daemon.url, directory: daemon.directory, token: secret });
      // It starts while the other one works, and is looked at in the end.
      const late = await attachLate(daemon, secret);
      await terminal.shows(/Default model/, { withinMs: START_MS });
      await drawTurn(terminal);
      await answerPermissions(terminal);
      await answerQuestion(terminal);
      await abortAndCompact(terminal);
      await useSecondSession(terminal);
      await late.shows(/Permission required[\s\S]*npm test/, { withinMs: START_MS });
      late.keep("late-attach");
    });
  });

/** On a session in which a permission waits already: OpenCode's own server would not tell of it. */
async function attachLate({ url, directory }: TestDaemon, secret: string): Promise<Terminal> {
  const api = openCodeApi(`${url}/opencode`, { directory, headers: { authorization: `Bearer ${secret}` } });
  const { body: session } = await api.post("/session", { title: "Waiting" });
  await api.post(`/session/${session.id}/prompt_async`, { parts: [{ type: "text", text: "permission" }] });
  return openTui({ program, url, directory, more: ["-s", session.id], token: secret });
}

async function drawTurn(terminal: Terminal): Promise<void> {
  await submit(terminal, "tool");
  await terminal.shows(/Done: I added a line at the end of README\.md\./);
  await terminal.shows(/Read README\.md[\s\S]*Edit README\.md[\s\S]*\+ One more line\./);
  terminal.keep("turn-with-tools");
}

async function answerPermissions(terminal: Terminal): Promise<void> {
  await submit(terminal, "permission");
  await terminal.shows(/Permission required[\s\S]*npm test/);
  terminal.keep("permission");
  terminal.press("Enter");
  await terminal.shows(/Permission required[\s\S]*CHANGELOG\.md[\s\S]*All tests pass/);
  terminal.keep("permission-with-diff");
  terminal.press("Enter");
  await terminal.shows(/bash was allowed, edit was allowed/);
}

async function answerQuestion(terminal: Terminal): Promise<void> {
  await submit(terminal, "question");
  await terminal.shows(/Which language shall I use\?/);
  terminal.keep("question");
  terminal.press("Enter");
  await terminal.shows(/Which checks|Lint/);
  terminal.press("Enter");
  terminal.press("Tab");
  await terminal.shows(/Review[\s\S]*TypeScript/);
  terminal.press("Enter");
  await terminal.shows(/You chose: TypeScript/);
}

async function abortAndCompact(terminal: Terminal): Promise<void> {
  await submit(terminal, "hang");
  await terminal.shows(/esc (to )?interrupt|interrupt/);
  terminal.press("Escape");
  await terminal.shows(/again to interrupt/);
  terminal.press("Escape");
  await terminal.shows(/interrupted/);
  terminal.keep("aborted");
  terminal.type("/compact");
  await terminal.shows(/Compact|compact session/i);
  terminal.press("Enter");
  await terminal.shows(/Summary: the user tried some scenarios\./);
  terminal.keep("compacted");
}

async function useSecondSession(terminal: Terminal): Promise<void> {
  terminal.type("/new");
  await terminal.shows(/New session/i);
  terminal.press("Enter");
  await terminal.shows(/Ask anything/);
  await submit(terminal, "subagent");
  await terminal.shows(/The subagent found two files\./);
  terminal.keep("second-session-with-subagent");
  terminal.type("/sessions");
  await terminal.shows(/Switch session|sessions/i);
  terminal.press("Enter");
  await terminal.shows(/Sessions[\s\S]*Today[\s\S]*● subagent[\s\S]*tool/);
  terminal.keep("session-list");
}

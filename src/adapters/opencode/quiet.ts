/**
 * Lines of OpenCode that are ignored about a conversation, each with the reason. `docs/agents/opencode.md` lists
 * them.
 */
import type { OpenCodeServerEventName, OpenCodeSessionEvent } from "../../dialects/opencode.ts";
import type { OpenCodePayload } from "../../dialects/opencode-stream.ts";

/** What the server says about itself and its surroundings. */
export const quietServerEvents: Readonly<Record<OpenCodeServerEventName, string>> = {
  "server.connected": "the stream is open; a second time it was cut, and the state is read again",
  "server.heartbeat": "a sign of life; after a silence it makes us ask for the status",
  "server.instance.disposed": "a directory's instance was closed; a prompt opens it again",
  "global.disposed": "the server is going down, which the process's exit shows",
  "plugin.added": "loading of a directory",
  "catalog.updated": "loading of a directory",
  "models-dev.refreshed": "the model catalogue",
  "reference.updated": "loading of a directory",
  "integration.updated": "loading of a directory",
  "integration.connection.updated": "a login to a provider",
  "installation.updated": "OpenCode's own updates",
  "installation.update-available": "OpenCode's own updates",
  "lsp.updated": "language servers",
  "lsp.client.diagnostics": "language servers; a tool's result has what matters",
  "mcp.tools.changed": "the tools of an MCP server",
  "mcp.browser.open.failed": "a login to an MCP server",
  "project.updated": "the project's record",
  "project.directories.updated": "the project's record",
  "vcs.branch.updated": "the project's branch",
  "workspace.ready": "workspaces",
  "workspace.failed": "workspaces",
  "workspace.status": "workspaces",
  "worktree.ready": "workspaces",
  "worktree.failed": "workspaces",
  "pty.created": "terminals of a client",
  "pty.updated": "terminals of a client",
  "pty.exited": "terminals of a client",
  "pty.deleted": "terminals of a client",
  "tui.prompt.append": "remote control of the terminal client",
  "tui.command.execute": "remote control of the terminal client",
  "tui.toast.show": "remote control of the terminal client",
  "tui.session.select": "remote control of the terminal client",
  "file.edited": "names no session; the tool's result has the file",
  "file.watcher.updated": "names no session; any program may have changed the file",
};

/** What it says about a session, and other events say better. */
export const quietSessionEvents = {
  "session.diff": "tool results, patch parts and a revert have the files",
  "command.executed": "the command's prompt is the user message",
} as const satisfies Partial<Record<OpenCodeSessionEvent["type"], string>>;

export const quietParts = {
  "step-start": "the step's message has begun already",
  snapshot: "OpenCode's own bookkeeping",
  agent: "the mention is in the prompt's text",
  retry: "the status has the retry",
} as const;

const quiet: ReadonlySet<string> = new Set([...Object.keys(quietServerEvents), ...Object.keys(quietSessionEvents)]);

/** These two are about the stream that all sessions share. */
const ofTheStream: ReadonlySet<string> = new Set(["server.connected", "server.heartbeat"]);

/** What a server says of itself would otherwise be kept once per session that shares it. */
export const isServersOwn = (type: string): boolean => type in quietServerEvents && !ofTheStream.has(type);

type Quiet = Exclude<OpenCodePayload, OpenCodeSessionEvent>;

/** Duplicates, in a newer form, of events that came in the classic form are ignored too. */
export const isQuiet = (payload: OpenCodePayload): payload is Quiet =>
  quiet.has(payload.type) ||
  payload.type === "sync" ||
  /^(session\.next|permission\.v2|question\.v2)\./.test(payload.type);

/** OpenCode's own TUI in a terminal, with folders of its own: no login, no plugin and no network is in play. */
import { join } from "node:path";
import { temporaryFolder } from "./folders.ts";
import { hasTmux, openTerminal, type Terminal } from "./terminal.ts";
import { root } from "./transcripts.ts";

/** OpenCode's, where it was found or named. */
export const program = process.env.FRANCA_TEST_OPENCODE ?? "";

/** What a test with its TUI lacks here. */
export const missing =
  program === ""
    ? "OpenCode was not found; `node scripts/tools.js opencode` installs it, and the suites use it then"
    : hasTmux()
      ? null
      : "tmux is not installed";

export function openCodeEnvironment(): Record<string, string> {
  const home = temporaryFolder();
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_STATE_HOME: join(home, "state"),
    XDG_CACHE_HOME: join(home, "cache"),
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
  };
}

export const openTui = ({
  program,
  url,
  directory,
  more = [],
  token,
}: {
  readonly program: string;
  /** The daemon's. */
  readonly url: string;
  readonly directory: string;
  readonly more?: readonly string[];
  /** The daemon's, where it has one. */
  readonly token?: string;
}): Terminal =>
  openTerminal({
    command: [program, "attach", `${url}/opencode`, "--dir", directory, ...more],
    env: { ...openCodeEnvironment(), ...(token === undefined ? {} : { OPENCODE_SERVER_PASSWORD: token }) },
    screens: join(root, "test-output", "opencode-tui"),
  });

export async function submit(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text);
  await terminal.shows(new RegExp(text.replaceAll(/[^\w ]/g, ".")));
  terminal.press("Enter");
}

/** OpenCode's real TUI, where it and tmux are there. */
import { describeTui } from "../../support/opencode-tui-flow.ts";

describeTui();

/** The same as in the fast suite, with the version of OpenCode that all its other tests use. */
import { describeTui } from "../support/opencode-tui-flow.ts";

describeTui();

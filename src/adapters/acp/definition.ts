/** All that is known of one ACP agent. */
import type { AgentEnvironment, Credentials } from "../../core/agent-environment.ts";
import type { Binary } from "../../core/binary.ts";
import type { AgentMode, Capabilities } from "../../core/capabilities.ts";
import type { Launch, LaunchOptions } from "../../core/launch.ts";
import type { Trial } from "../../core/trial.ts";
import type { Quirks } from "./quirks.ts";

export interface AcpAgent {
  readonly agent: string;
  readonly name: string;
  /** What it calls itself in its answer to `initialize`; for one that does not, how that answer is known. */
  readonly info: string | ((hello: Readonly<Record<string, unknown>>) => boolean);
  /** After the program's own name. */
  readonly args: readonly string[] | ((options: LaunchOptions) => readonly string[]);
  /** The whole command line, for one whose program is not the same for everybody; it wins over `binary` and `args`. */
  readonly programOf?: (options: LaunchOptions) => Extract<Launch, { kind: "refused" }> | readonly string[];
  /** Variables that every process of it gets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly binary?: Binary;
  readonly environment?: AgentEnvironment;
  readonly credentials?: Credentials;
  /** What it can beyond the protocol's minimum. */
  readonly can?: Partial<Capabilities>;
  readonly modes?: readonly AgentMode[];
  /** Files of a folder from which it takes settings, hooks or tools: it is not started in one that is not trusted. */
  readonly folderFiles: readonly string[];
  readonly quirks?: Quirks;
  readonly trial?: Trial;
  readonly resumeCommand?: (nativeId: string) => string;
}

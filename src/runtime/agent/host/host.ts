/** What an agent asks of this machine through us: files and terminals of its session. */
import type { HostCall } from "../../../core/host-call.ts";
import type { FolderFacts } from "../../../core/launch.ts";
import type { SessionView } from "../file-view.ts";
import { type Answer, failed, refused } from "./answer.ts";
import { performFile } from "./files.ts";
import { openTerminals, type Runs, type TerminalCall, type TerminalsOptions } from "./terminals.ts";

/** Calls that are under way at the same time. */
const CALLS_LIMIT = 256;

export interface HostOptions {
  readonly directory: string;
  readonly folder: FolderFacts | null;
  readonly dataFolder: string | null;
  readonly view: SessionView;
  readonly environmentFor: TerminalsOptions["environmentFor"];
  readonly begin: () => Promise<string>;
  readonly runs: Runs;
  readonly answer: (id: string, answer: Answer) => void;
}

export interface Host {
  readonly perform: (id: string, call: HostCall) => void;
  readonly stop: () => Promise<void>;
}

export function openHost(options: HostOptions): Host {
  const { directory, folder, dataFolder, view, environmentFor, begin, runs, answer } = options;
  const folderEnvironment = folder?.gitEnvironment ?? {};
  const terminals = openTerminals({ directory, begin, runs, environmentFor, folderEnvironment, view });
  let open = true;
  let calls = 0;
  const give = (id: string, result: Answer): void => {
    if (open) answer(id, result);
  };
  return {
    perform(id, call) {
      if (calls >= CALLS_LIMIT) return give(id, refused(429, `There are ${CALLS_LIMIT} open calls.`));
      calls += 1;
      const work = isTerminal(call) ? terminals.perform(call) : performFile({ directory, dataFolder, view }, call);
      void work
        .catch(failed)
        .then((result) => give(id, result))
        .finally(() => {
          calls -= 1;
        });
    },
    async stop() {
      open = false;
      await terminals.stop();
    },
  };
}

const isTerminal = (call: HostCall): call is TerminalCall => call.type.startsWith("terminal.");

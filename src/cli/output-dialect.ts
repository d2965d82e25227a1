/**
 * `--format takopi` and `--format opencode`: a turn as JSON lines in the words of another program. Logs go to stderr.
 */
import { writeSync } from "node:fs";
import { type Running, run } from "../core/fold.ts";
import type { TakopiEvent } from "../dialects/takopi.ts";
import { openCodeFold } from "../projections/opencode/index.ts";
import { takopiFold } from "../projections/takopi/index.ts";
import type { EventOf, UniversalEvent } from "../protocol/events.ts";
import type { Output, OutputOptions } from "./output.ts";

export function openOpenCodeOutput({ stderr }: OutputOptions): Output {
  const running = run(openCodeFold());
  return quiet({ stderr, event: (event) => print(running.step(event)), end: () => {} });
}

/** A bridge waits for `completed`: it is printed in every case, and then the exit code says nothing more. */
export function openTakopiOutput({ stderr, agent, resume }: OutputOptions): Output {
  const running: Running<UniversalEvent, TakopiEvent> = run(takopiFold(resume === undefined ? {} : { resume }));
  let completed = false;
  return quiet({
    stderr,
    event(event) {
      const lines = running.step(event);
      print(lines);
      completed ||= lines.some(({ type }) => type === "completed");
    },
    end(ended) {
      if (completed && ended !== null) process.exitCode = 0;
      if (completed) return;
      completed = true;
      print([unstarted(agent)]);
    },
  });
}

const unstarted = (agent: string): TakopiEvent => ({
  type: "completed",
  engine: agent.toLowerCase().replaceAll(/[^a-z0-9_]/g, "_"),
  ok: false,
  answer: "The run could not be started.",
  resume: null,
  error: "The run could not be started; standard error says why.",
  usage: null,
});

/** Written at once: whoever stops us in the next moment has read every whole line. */
function print(values: readonly unknown[]): void {
  for (const value of values) writeAll(Buffer.from(`${JSON.stringify(value)}\n`));
}

function writeAll(bytes: Buffer): void {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EAGAIN";

function quiet({
  stderr,
  event,
  end,
}: {
  stderr: NodeJS.WriteStream;
  event: (event: UniversalEvent) => void;
  end: (ended: EventOf<"turn.ended"> | null) => void;
}): Output {
  return {
    event,
    end,
    say: (text) => void stderr.write(`franca: ${text}\n`),
    pause: () => {},
    resume: () => {},
  };
}

/** A host for the mock: hears its lines, can be slow to read them, and says when it has fallen silent. */
import type { InProcessAgent } from "../../src/core/in-process.ts";
import type { LaunchOptions } from "../../src/core/launch.ts";
import { isMockLine, type MockHears, type MockLine } from "../../src/dialects/mock.ts";
import { createMock } from "../../src/mock/index.ts";
import { launchOptions } from "./mock-recordings.ts";

export interface HostOptions {
  readonly play?: InProcessAgent;
  readonly resume?: string;
  readonly permissionMode?: LaunchOptions["permission_mode"];
  /** Lines it takes before the mock must wait for it. */
  readonly capacity?: number;
  /** Pauses last until they are aborted, instead of no time at all. */
  readonly patient?: boolean;
}

export interface MockHost {
  readonly lines: MockLine[];
  readonly hear: (line: unknown) => void;
  readonly said: <Type extends MockLine["type"]>(type: Type) => Extract<MockLine, { type: Type }>[];
  /** Answers the next permission request, when it comes. */
  readonly answer: (reply: Extract<MockHears, { type: "answer" }>["reply"]) => Promise<void>;
  readonly untilSaid: (type: MockLine["type"], count: number) => Promise<void>;
  readonly untilEnds: (count: number) => Promise<void>;
  readonly untilSilent: () => Promise<void>;
  /** How often the mock had to wait for the reader. */
  readonly waits: () => number;
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const untilAborted = (_ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve());
  });

export function openHost({
  play,
  resume,
  permissionMode = "default",
  capacity = Infinity,
  patient = false,
}: HostOptions = {}): MockHost {
  const lines: MockLine[] = [];
  let unread = 0;
  let waits = 0;
  let answered = 0;
  const agent = play ?? createMock({ delayMs: 0, wait: patient ? untilAborted : async () => {} });
  const peer = agent.open({
    options: { ...launchOptions, resume: resume ?? null, permission_mode: permissionMode },
    emit: (line) => {
      if (isMockLine(line)) lines.push(line);
      unread += 1;
      return unread < capacity;
    },
    drained: async () => {
      waits += 1;
      await nextRound();
      unread = 0;
    },
    exit: () => {},
    signal: new AbortController().signal,
  });
  const isOf =
    <Type extends MockLine["type"]>(type: Type) =>
    (line: MockLine): line is Extract<MockLine, { type: Type }> =>
      line.type === type;
  const said: MockHost["said"] = (type) => lines.filter(isOf(type));
  const untilSaid: MockHost["untilSaid"] = async (type, count) => {
    while (said(type).length < count) await nextRound();
  };
  return {
    lines,
    hear: peer.receive,
    said,
    waits: () => waits,
    answer: async (reply) => {
      await untilSaid("ask", answered + 1);
      const { id } = said("ask")[answered] ?? { id: "" };
      answered += 1;
      peer.receive({ type: "answer", id, reply });
    },
    untilSaid,
    untilEnds: (count) => untilSaid("end", count),
    untilSilent: async () => {
      for (let before = -1; before !== lines.length; ) {
        before = lines.length;
        await nextRound();
      }
    },
  };
}

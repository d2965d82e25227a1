/** The simulated agent: speaks the mock's language, plays what the plan says for each prompt, and obeys or does not. */
import type { InProcessAgent, InProcessHost } from "../../src/core/in-process.ts";
import { isMockLine, type MockHears, type MockSays } from "../../src/dialects/mock.ts";
import type { Random } from "../faults/random.ts";
import { type Beat, beatsOf } from "./beats.ts";
import type { Play } from "./plan.ts";
import type { Life, World } from "./world.ts";

const SLOWEST_LINE_MS = 8;

export interface AgentOptions {
  readonly world: World;
  readonly life: Life;
  /** How a prompt is to be played, by its words. */
  readonly playOf: (text: string) => Play;
  readonly isStubborn: (session: string) => boolean;
  /** What reaches an agent. */
  readonly onHeard: (session: string, line: MockHears) => void;
  /** The daemon stops an agent, or dies; `silentMs`: since its last line, while the machine was awake. */
  readonly onStopped: (session: string, silentMs: number) => void;
  /** Agents that run now, so that one can be killed. */
  readonly running: Map<string, RunningAgent>;
}

export interface RunningAgent {
  readonly kill: () => void;
}

interface Script {
  readonly beats: Beat[];
  /** The request whose answer it waits for. */
  waitsFor: string | null;
}

interface State {
  readonly options: AgentOptions;
  readonly host: InProcessHost;
  readonly session: string;
  scripts: Script[];
  open: boolean;
  /** When it sent its last line, or was started; of `World.awake`. */
  spokeAt: number;
}

function reportStop(state: State): void {
  state.options.onStopped(state.session, state.options.world.awake() - state.spokeAt);
}

export function simulatedAgent(options: AgentOptions): InProcessAgent {
  return {
    open(host) {
      const { life, world, running } = options;
      const session = host.options.session_id;
      if (world.random.chance(0.02)) throw new Error("The simulated agent could not be started.");
      const state: State = {
        options,
        host,
        session,
        scripts: [],
        open: life.act(),
        spokeAt: world.awake(),
      };
      host.signal.addEventListener("abort", () => {
        reportStop(state);
        state.open = false;
      });
      // A daemon that dies right after it stored the watchdog's error never stops the agent.
      void life.died.then(() => {
        if (state.open) reportStop(state);
      });
      running.set(session, { kill: () => exit(state, null) });
      play(state, [{ type: "say", line: readyLine(host) }]);
      return { receive: (line) => hear(state, line) };
    },
  };
}

const readyLine = ({ options }: InProcessHost): MockSays => ({
  type: "ready",
  session: options.resume ?? `native-${options.session_id}`,
  version: "1",
  model: options.model ?? "simulated",
  directory: options.directory,
  permission_mode: options.permission_mode,
  tools: ["bash"],
});

function hear(state: State, line: unknown): void {
  const { life, playOf, isStubborn, onHeard, world } = state.options;
  if (!state.open || !isMockLine(line) || !isHeard(line)) return;
  if (!life.act()) return;
  onHeard(state.session, line);
  switch (line.type) {
    case "prompt":
      return play(state, beatsOf(playOf(line.text), numbered(state), world.random));
    case "steer":
      return;
    case "compact":
      return play(state, [
        { type: "say", line: { type: "compacting" } },
        { type: "say", line: { type: "summary", id: line.id, text: "What was said." } },
        { type: "say", line: { type: "end", reason: "completed" } },
      ]);
    case "answer":
    case "answers":
      for (const script of state.scripts) if (script.waitsFor === line.id) resume(state, script);
      return;
    case "abort":
      if (isStubborn(state.session)) return;
      state.scripts = [];
      return play(state, [{ type: "say", line: { type: "end", reason: "aborted" } }]);
    case "set":
      return;
  }
}

const heard: readonly string[] = ["prompt", "steer", "answer", "answers", "set", "compact", "abort"];
const isHeard = (line: MockSays | MockHears): line is MockHears => heard.includes(line.type);

/** Ids that no other life of the agent uses. */
const numbered = ({ session, options: { life, world } }: State): string =>
  `${session}.${life.number}.${Math.round(world.now())}.${world.random.integer(1_000_000)}`;

function play(state: State, beats: Beat[]): void {
  const script: Script = { beats, waitsFor: null };
  state.scripts.push(script);
  next(state, script);
}

function resume(state: State, script: Script): void {
  script.waitsFor = null;
  next(state, script);
}

/** Lines of one script come one after the other; those of several may mix, as a late line with the next turn. */
function next(state: State, script: Script): void {
  const { world, life } = state.options;
  world.later(delayOf(script.beats[0], world.random), () => {
    if (!state.open || !life.isAlive() || !state.scripts.includes(script)) return;
    const beat = script.beats.shift();
    if (beat === undefined) {
      state.scripts = state.scripts.filter((one) => one !== script);
      return;
    }
    perform(state, script, beat);
  });
}

const delayOf = (beat: Beat | undefined, random: Random): number =>
  beat?.type === "pause" ? beat.ms : random.integer(SLOWEST_LINE_MS);

function perform(state: State, script: Script, beat: Beat): void {
  switch (beat.type) {
    case "say":
    case "garble":
      state.spokeAt = state.options.world.awake();
      state.host.emit(beat.line);
      return next(state, script);
    case "ask":
      script.waitsFor = beat.line.id;
      state.spokeAt = state.options.world.awake();
      state.host.emit(beat.line);
      return;
    case "pause":
      return next(state, script);
    case "exit":
      return exit(state, 1);
    case "hang":
      return;
  }
}

function exit(state: State, code: number | null): void {
  if (!state.open || !state.options.life.isAlive()) return;
  state.open = false;
  state.host.exit({ code, signal: code === null ? "SIGKILL" : null });
}

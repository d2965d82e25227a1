/** What a run writes, in order: `started` is its first line, and what comes before it waits. */
import type { TakopiEvent, TakopiResume } from "../../dialects/takopi.ts";
import type { Rendering, Run, State } from "./state.ts";

/** More lines than these do not wait for a token: the oldest are left out, the log has them. */
const MAX_WAITING = 1_000;

export const tokenOf = ({ engine }: State, value: string): TakopiResume => ({ engine, value });

/** The token is announced once in a run, as soon as it is known. */
export function announce(rendering: Rendering, run: Run): void {
  const { state } = rendering;
  const value = state.options.resume ?? state.native;
  if (value !== null) announceAs(rendering, { run, token: tokenOf(state, value) });
}

export function announceAs({ state, out }: Rendering, { run, token }: { run: Run; token: TakopiResume }): void {
  if (run.started !== null) return;
  run.started = token;
  out.push({ type: "started", engine: state.engine, resume: token, title: state.title, meta: { ...state.meta } });
  out.push(...run.waiting.splice(0));
}

export function write(rendering: Rendering, line: TakopiEvent): void {
  const { run } = rendering.state;
  if (run !== null) announce(rendering, run);
  if (run === null || run.started !== null) return void rendering.out.push(line);
  run.waiting.push(line);
  if (run.waiting.length > MAX_WAITING) run.waiting.shift();
}

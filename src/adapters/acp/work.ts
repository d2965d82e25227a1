/** That the agent works: by our prompt, or by itself. */
import type { Report } from "../../core/report.ts";
import type { State } from "./state.ts";

export function beginTurn(state: State, turn: "asked" | "unasked"): Report[] {
  state.turn = turn;
  state.turnAt = state.at;
  state.said = false;
  state.cancelled = false;
  state.rejected = false;
  state.failure = null;
  state.alarmed = false;
  for (const thread of state.threads.values()) Object.assign(thread, { parent: null, message: null, called: false });
  return [{ type: "begin", origin: turn === "asked" ? "user" : "background" }];
}

/** The model speaks or calls a tool: what was refused or had failed before is not the end. */
export function noteWork(state: State): Report[] {
  const out = state.turn === "none" ? beginTurn(state, "unasked") : [];
  state.said = true;
  state.rejected = false;
  state.failure = null;
  return out;
}

/** The real OpenCode as the doctor tries it, with scripts and rules of the test's own. */
import { setup, trial } from "../../src/adapters/opencode/trial.ts";
import { prepare, scriptFor } from "../../src/cli/doctor-trial.ts";
import type { TrialPlace } from "../../src/core/trial.ts";
import type { Script, ScriptTurn } from "../../src/model-server/script.ts";

export const opencodeScript = (turns: readonly ScriptTurn[]): Script => scriptFor(trial, turns);

export const opencodeEnvironment = (place: TrialPlace, rules: { readonly permission: unknown }) =>
  prepare(setup(place, rules));

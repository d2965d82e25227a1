/** Models, modes and other options of a session: as configuration options where the agent has them, else as before. */
import type { Send } from "../../core/agent-io.ts";
import type { Report } from "../../core/report.ts";
import { isString, type Shape, shapeOf } from "../../dialects/shape.ts";
import type { SessionChange } from "../../protocol/commands.ts";
import { ask } from "./ask.ts";
import type { State } from "./state.ts";

type Category = "model" | "mode" | "thought_level";

export const optionsIn = (opened: Shape): Shape[] =>
  Array.isArray(opened.configOptions) ? opened.configOptions.map(shapeOf) : [];

/** Some have two options of one category: the one that is called like it is meant. */
function optionOf(opened: Shape, category: Category): Shape | undefined {
  const all = optionsIn(opened).filter((option) => option.category === category);
  return all.find((option) => idOf(option) === category) ?? all[0];
}

const idOf = ({ id, configId }: Shape): string => String(id ?? configId);

export function modelIn(opened: Shape): string | null {
  const value = optionOf(opened, "model")?.currentValue ?? shapeOf(opened.models).currentModelId;
  return isString(value) ? value : null;
}

export function modeIn(opened: Shape): string | null {
  const value = optionOf(opened, "mode")?.currentValue ?? shapeOf(opened.modes).currentModeId;
  return isString(value) ? value : null;
}

/** What the session asks for when it is opened. */
export function applySettings(state: State): Send[] {
  const { options, quirks } = state;
  if (options === null) return [];
  const { model, variant, mode, permission_mode } = options;
  return [
    ...(model === null ? [] : setOption(state, { category: "model", value: model })),
    ...(variant === null ? [] : setOption(state, { category: "thought_level", value: variant })),
    ...(mode === null ? [] : setOption(state, { category: "mode", value: mode })),
    ...permissionMode(state, { asked: permission_mode, unasked: mode !== null || quirks.modes === undefined }),
  ];
}

function permissionMode(state: State, { asked, unasked }: { asked: string; unasked: boolean }): Send[] {
  if (unasked) return [];
  const entry = Object.entries(state.quirks.modes ?? {}).find(([ours]) => ours === asked);
  const native = entry?.[1];
  if (native === undefined || native === modeIn(state.opened)) return [];
  return setOption(state, { category: "mode", value: native });
}

/** Changed in the middle of a session. */
export function changeSettings(state: State, change: SessionChange): Send[] {
  const { model, variant, mode, permission_mode } = change;
  return [
    ...(isString(model) ? setOption(state, { category: "model", value: model }) : []),
    ...(isString(variant) ? setOption(state, { category: "thought_level", value: variant }) : []),
    ...(isString(mode) ? setOption(state, { category: "mode", value: mode }) : []),
    ...(permission_mode === undefined ? [] : permissionMode(state, { asked: permission_mode, unasked: false })),
  ];
}

function setOption(state: State, { category, value }: { category: Category; value: string }): Send[] {
  const { session: sessionId, opened } = state;
  const option = optionOf(opened, category);
  state.settings += 1;
  const context = { type: "set", what: `${words[category]} ${value}` } as const;
  // Modes have a method of their own, which those without configuration options have.
  if (option !== undefined) {
    const params = { sessionId, configId: idOf(option), value };
    return [ask(state, { method: "session/set_config_option", params, context })];
  }
  if (category === "model")
    return [ask(state, { method: "session/set_model", params: { sessionId, modelId: value }, context })];
  return [ask(state, { method: "session/set_mode", params: { sessionId, modeId: value }, context })];
}

const words: Readonly<Record<Category, string>> = { model: "model", mode: "mode", thought_level: "variant" };

/** A setting was refused: said, and the session goes on as it is. */
export const onSettingRefused = (what: string, message: string): Report[] => [
  { type: "error", message: `The agent does not take the ${what}: ${message}`, code: "setting_refused", fatal: false },
];

/** The agent sends its options again. */
export function onOptions(state: State, configOptions: readonly Shape[]): Report[] {
  state.opened = { ...state.opened, configOptions };
  const model = modelIn(state.opened);
  const mode = modeIn(state.opened);
  return [{ type: "session", ...(model === null ? {} : { model }), ...(mode === null ? {} : { mode }) }];
}

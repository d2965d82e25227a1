/** The slash commands that an agent offers: their names and a line about each, within bounds. */
import { defined } from "../../core/defined.ts";
import type { Report } from "../../core/report.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import type { SlashCommand } from "../../protocol/events.ts";
import { isOpening, type State } from "./state.ts";

/** One agent sends half a megabyte of them after every start. */
const MOST = 200;
const LONGEST = 200;

/** What comes before the session is announced is announced with it. */
export function onCommands(state: State, list: unknown): Report[] {
  state.commands = commandsIn(list);
  return isOpening(state) || state.session === null ? [] : [{ type: "session", commands: state.commands }];
}

function commandsIn(list: unknown): SlashCommand[] {
  return (Array.isArray(list) ? list : []).slice(0, MOST).flatMap((one: unknown) => {
    const { name, description, input } = shapeOf(one);
    if (!isString(name) || name === "") return [];
    return [{ name, ...defined({ description: line(description), hint: line(shapeOf(input).hint) }) }];
  });
}

function line(text: unknown): string | undefined {
  if (!isString(text) || text.trim() === "") return undefined;
  const first = text.trim().split("\n", 1)[0] ?? "";
  return first.length <= LONGEST ? first : `${first.slice(0, LONGEST - 1)}…`;
}

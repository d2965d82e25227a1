/** Methods and notifications that only one agent has: its quirks say what they mean. */
import { lookUp } from "../../core/look-up.ts";
import type { Report } from "../../core/report.ts";
import { stepUsage } from "../../core/report-builders.ts";
import { isString, shapeOf } from "../../dialects/shape.ts";
import { onOwnWords } from "./blocks.ts";
import { TURN_ENDED, TURN_STARTED } from "./files/lines.ts";
import type { Extension } from "./quirks.ts";
import { type State, threadOf } from "./state.ts";
import { beginSubagent, endSubagent } from "./subagents.ts";
import { endTurn } from "./turns.ts";
import { beginTurn } from "./work.ts";

/** Null: nobody knows it. */
export function onExtension(state: State, { method, params }: { method: string; params: unknown }): Report[] | null {
  const meanings = lookUp(ofFiles, method) ?? state.quirks.extension?.(method, params) ?? null;
  if (meanings === null) return null;
  const { sessionId } = shapeOf(params);
  const own = state.session === null || !isString(sessionId) || sessionId === state.session;
  return meanings.flatMap((meaning) => onMeaning(state, { meaning, own }));
}

/** In lines that were made of a session file. */
const ofFiles: Readonly<Record<string, readonly Extension[]>> = {
  [TURN_STARTED]: [{ type: "unasked.begin" }],
  [TURN_ENDED]: [{ type: "unasked.end" }],
};

function onMeaning(state: State, { meaning, own }: { meaning: Extension; own: boolean }): Report[] {
  switch (meaning.type) {
    case "ignored":
      return [];
    case "usage":
      return [stepUsage({ tokens: meaning.tokens })];
    case "unasked.begin":
      return state.turn === "none" ? beginTurn(state, "unasked") : [];
    case "unasked.end":
      return own && state.turn === "unasked" ? endTurn(state, { reason: "completed" }) : [];
    case "model":
      return own ? [{ type: "session", model: meaning.model }] : [];
    case "subagent.begin":
      return beginSubagent(state, { id: meaning.id, title: meaning.title });
    case "subagent.end":
      return endSubagent(state, { id: meaning.id, failed: meaning.failed });
    case "error":
    case "status":
    case "retry":
    case "mode":
      return own ? onOwnWords(state, threadOf(state, state.session ?? ""), meaning) : [];
  }
}

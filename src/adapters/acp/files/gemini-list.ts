/**
 * The messages of one of Gemini CLI's session files, with its patches applied. A list that replaces another one has its
 * messages in a poorer form (without tokens, thoughts and calls): of each message the fullest form is kept.
 */
import { type GeminiMessage, textOfParts } from "../../../dialects/gemini-file.ts";
import { shapeOf } from "../../../dialects/shape.ts";

export interface MessageList {
  readonly add: (message: GeminiMessage) => void;
  readonly replace: (messages: readonly GeminiMessage[]) => void;
  readonly rewind: (id: string) => void;
  readonly messages: () => readonly GeminiMessage[];
  /** Prompts that are not in the list any more. */
  readonly abandoned: () => number;
}

export function openList(): MessageList {
  const known = new Map<string, GeminiMessage>();
  const summarised = new Map<string, readonly GeminiMessage[]>();
  let list: GeminiMessage[] = [];
  let places = new Map<string, number>();
  const become = (messages: GeminiMessage[]): void => {
    list = messages;
    places = new Map(messages.map((message, index) => [keyOf(message), index]));
  };
  const fullest = (message: GeminiMessage): GeminiMessage => {
    const key = keyOf(message);
    const before = known.get(key);
    const best = before !== undefined && fullness(before) > fullness(message) ? before : message;
    known.set(key, best);
    return best;
  };
  return {
    add(message) {
      const key = keyOf(message);
      const place = places.get(key) ?? list.length;
      places.set(key, place);
      list[place] = fullest(message);
    },
    replace(messages) {
      const cut = messages.findIndex(isSummary);
      const summary = messages[cut];
      // What a summary stands for has happened all the same.
      if (summary !== undefined && !summarised.has(summary.id)) summarised.set(summary.id, list);
      const earlier = summary === undefined ? [] : (summarised.get(summary.id) ?? []);
      const names = new Set(earlier.map(keyOf));
      const later = messages.slice(Math.max(0, cut)).filter((one) => !names.has(keyOf(one)));
      become([...earlier, ...later].map(fullest));
    },
    rewind(id) {
      const index = list.findIndex((one) => one.id === id);
      become(index < 0 ? [] : list.slice(0, index));
    },
    messages: () => list,
    abandoned() {
      const left = new Set(list.map(keyOf));
      return [...known].filter(([key, message]) => isPrompt(message) && !left.has(key)).length;
    },
  };
}

/** On resume the results of a message are written with its id. */
const keyOf = ({ id, type }: GeminiMessage): string => `${type} ${id}`;

/** A repeated line adds to the one before; a snapshot has content and nothing else, or results of other calls too. */
function fullness({ native }: GeminiMessage): number {
  const { tokens, toolCalls, content } = native;
  const extent = (tokens === undefined ? 0 : 2) + (toolCalls === undefined ? 0 : 2);
  return typeof content === "string" ? extent + 1 : extent;
}

const textOf = ({ native }: GeminiMessage): string => textOfParts(native.content);

const isSummary = (message: GeminiMessage): boolean =>
  message.type === "user" && textOf(message).includes("<state_snapshot>");

/** Not a tool's result, not what the agent says to the model about itself. */
export function isPrompt(message: GeminiMessage): boolean {
  const { content } = message.native;
  if (message.type !== "user" || textOf(message).startsWith("<session_context>") || isSummary(message)) return false;
  return !(Array.isArray(content) && content.some((part) => shapeOf(part).functionResponse !== undefined));
}

/** Messages in the form of OpenCode's newer API (`/api/…`), from the ones that the older API has. */
import { isShape } from "../../dialects/shape.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A message with its parts, as the older API answers it. */
export interface WholeMessage {
  readonly info: Fields;
  readonly parts: readonly Fields[];
}

export function nextMessage({ info, parts }: WholeMessage): Fields {
  const { id, role, time } = info;
  if (role === "user") return userMessage({ info, parts });
  const created = isShape(time) ? time.created : 0;
  if (info.summary === true) {
    const summary = textIn(parts);
    return { id, type: "compaction", reason: "manual", summary, recent: "", time: { created } };
  }
  const { agent, modelID, providerID, variant, finish, cost, tokens, error } = info;
  return {
    id,
    type: "assistant",
    agent,
    model: { id: modelID, providerID, ...(variant === undefined ? {} : { variant }) },
    content: parts.flatMap(contentOf),
    time,
    ...(isShape(error) ? { finish: "error" } : finish === undefined ? {} : { finish }),
    ...(isShape(tokens) && (isSpent(tokens) || !isShape(error)) ? { cost, tokens: withoutTotal(tokens) } : {}),
    ...(isShape(error) ? { error: { type: "unknown", message: messageIn(error) } } : {}),
  };
}

const isSpent = ({ input, output }: Fields): boolean => input !== 0 || output !== 0;

function userMessage({ info: { id, time, sessionID }, parts }: WholeMessage): Fields {
  const written = textIn(parts.filter(({ synthetic }) => synthetic !== true));
  const added = textIn(parts.filter(({ synthetic }) => synthetic === true));
  const files = parts.filter(({ type }) => type === "file").map(fileOf);
  if (written === "" && added !== "" && files.length === 0) {
    return { id, type: "synthetic", sessionID, text: added, time };
  }
  return { id, type: "user", text: written, ...(files.length === 0 ? {} : { files }), time };
}

const textIn = (parts: readonly Fields[]): string =>
  parts
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("\n");

const fileOf = ({ url, mime, filename }: Fields): Fields => ({
  uri: url,
  mime,
  ...(filename === undefined ? {} : { name: filename }),
});

const withoutTotal = ({ total: _, ...tokens }: Fields): Fields => tokens;

export function messageIn({ data, name }: Fields): unknown {
  return isShape(data) && typeof data.message === "string" ? data.message : name;
}

function contentOf(part: Fields): Fields[] {
  const { type, id, text, time, tool, state, callID } = part;
  if (type === "text") return [{ type, id, text }];
  if (type === "reasoning") {
    const { start, end } = isShape(time) ? time : { start: 0, end: undefined };
    return [{ type, id, text, time: { created: start, ...(end === undefined ? {} : { completed: end }) } }];
  }
  if (type !== "tool" || !isShape(state)) return [];
  const { start, end } = isShape(state.time) ? state.time : { start: 0, end: undefined };
  const times = { created: start ?? 0, ...(start === undefined ? {} : { ran: start }) };
  const completed = end === undefined ? {} : { completed: end };
  const provider = { executed: false };
  return [{ type, id: callID, name: tool, provider, state: stateOf(state), time: { ...times, ...completed } }];
}

function stateOf({ status, input, output, error, metadata }: Fields): Fields {
  const structured = isShape(metadata) ? metadata : {};
  switch (status) {
    case "completed":
      return { status, input, content: [{ type: "text", text: output }], outputPaths: [], structured };
    case "error":
      return { status, input, content: [], structured, error: { type: "unknown", message: error } };
    case "running":
      return { status, input, content: [], structured };
    default:
      return { status: "pending", input: JSON.stringify(input ?? {}) };
  }
}

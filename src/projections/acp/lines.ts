/** The lines that Franca writes as an ACP agent. Strict in form: clients drop what they do not know. */
import { isAcpLine } from "../../dialects/acp-guard.ts";
import { isShape, type Shape } from "../../dialects/shape.ts";

export interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: "session/update";
  readonly params: { readonly sessionId: string; readonly update: Update };
}

/** Asked of the client; the id is that of the permission or the question. */
export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: string;
  readonly method: "session/request_permission" | "elicitation/create";
  readonly params: { readonly sessionId: string } & Readonly<Record<string, unknown>>;
}

/** The end of a turn that a prompt began: the answer to that prompt. The id is the turn's. */
export type Response =
  | { readonly jsonrpc: "2.0"; readonly id: string | number; readonly result: Readonly<Record<string, unknown>> }
  | {
      readonly jsonrpc: "2.0";
      readonly id: string | number;
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
    };

export type AcpOutput = Notification | Request | Response;

export type Update = { readonly sessionUpdate: string } & Readonly<Record<string, unknown>>;

/** Whether a line is one that an agent writes. */
export const isAcpOutput = (value: unknown): value is AcpOutput =>
  isShape(value) && value.jsonrpc === "2.0" && (value.method === undefined || isWritten(value)) && isAcpLine(value);

const isWritten = ({ id, method }: Shape): boolean =>
  id === undefined
    ? method === "session/update"
    : method === "session/request_permission" || method === "elicitation/create";

export const updateLine = (sessionId: string, update: Update): Notification => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update },
});

export const textContent = (text: string) => ({ type: "text", text }) as const;

/** Text of a message: `messageId` keeps what belongs together apart from what follows. */
export const chunk = (
  sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk",
  { text, messageId, meta }: { text: string; messageId: string; meta?: unknown },
): Update => ({
  sessionUpdate,
  content: textContent(text),
  messageId,
  ...(meta === undefined ? {} : { _meta: { franca: meta } }),
});

/** Our answers in Codex's words, and Codex's words in recordings as our answers. One table per kind of request. */
import type { AgentReply } from "../../core/agent-io.ts";
import { answersIn, contentFrom } from "../../core/elicitation.ts";
import { shapeOf } from "../../dialects/shape.ts";
import type { PermissionReply } from "../../protocol/commands.ts";
import type { Asked } from "./state.ts";

export type Given =
  | { readonly type: "permission"; readonly reply: AgentReply }
  /** One list of labels per question, in their order; null when it was rejected. */
  | { readonly type: "question"; readonly answers: readonly (readonly string[])[] | null }
  /** The turn is being stopped. */
  | { readonly type: "cancel" };

/** The result to send for a request. */
export function answerFor({ method, params }: Asked, given: Given): unknown {
  switch (method) {
    case "item/tool/requestUserInput":
      return { answers: given.type === "question" ? named(params, given.answers ?? []) : {} };
    case "mcpServer/elicitation/request":
      return elicited(params, given);
    case "item/permissions/requestApproval":
      return granted(params, given);
    case "applyPatchApproval":
    case "execCommandApproval":
      return {
        decision: word(given, { once: "approved", reject: "denied", cancel: "abort" }),
      };
    default:
      return {
        decision: word(given, { once: "accept", reject: "decline", cancel: "cancel" }),
      };
  }
}

const word = (given: Given, words: Record<AgentReply | "cancel", string>): string =>
  given.type === "permission" ? words[given.reply] : words.cancel;

/** Codex names its questions; we answer them in their order. */
function named(
  params: unknown,
  answers: readonly (readonly string[])[],
): Record<string, { answers: readonly string[] }> {
  return Object.fromEntries(questionIds(params).map((id, index) => [id, { answers: answers[index] ?? [] }]));
}

function questionIds(params: unknown): string[] {
  if (typeof params !== "object" || params === null || !("questions" in params)) return [];
  const { questions } = params;
  if (!Array.isArray(questions)) return [];
  return questions.flatMap((question: unknown) =>
    typeof question === "object" && question !== null && "id" in question && typeof question.id === "string"
      ? [question.id]
      : [],
  );
}

function elicited(params: unknown, given: Given): unknown {
  if (given.type === "cancel") return { action: "cancel", content: null };
  if (given.type === "question") {
    if (given.answers === null) return { action: "decline", content: null };
    return { action: "accept", content: contentFrom(params, given.answers) };
  }
  if (given.reply === "reject") return { action: "decline", content: null };
  return { action: "accept", content: {} };
}

/** Granting nothing is how this request is refused. */
function granted(params: unknown, given: Given): unknown {
  if (given.type !== "permission" || given.reply === "reject") return { permissions: {} };
  const asked = typeof params === "object" && params !== null && "permissions" in params ? params.permissions : {};
  return { permissions: asked, scope: "turn" };
}

export type Seen =
  | { readonly type: "permission"; readonly reply: PermissionReply; readonly cancelled: boolean }
  | {
      readonly type: "question";
      readonly answers: readonly (readonly string[])[] | null;
      readonly cancelled: boolean;
    };

/** What a host's answer in a recording means. */
export function replySeen(asked: Asked, result: unknown): Seen {
  const fields = shapeOf(result);
  if (asked.type === "question") {
    const { action, answers } = fields;
    if (action === "decline" || action === "cancel") {
      return { type: "question", answers: null, cancelled: action === "cancel" };
    }
    const given = action === undefined ? answersSeen(asked.params, answers) : answersIn(asked.params, fields.content);
    return { type: "question", answers: given, cancelled: false };
  }
  const { decision, action, permissions, scope } = fields;
  const said = typeof decision === "string" ? decision : decision != null ? "amended" : kept(action, fields._meta);
  if (permissions !== undefined) {
    const granted = typeof permissions === "object" && permissions !== null && Object.keys(permissions).length > 0;
    return {
      type: "permission",
      reply: granted ? (scope === "session" ? "always" : "once") : "reject",
      cancelled: false,
    };
  }
  return { type: "permission", reply: replies.get(said) ?? "reject", cancelled: said === "cancel" || said === "abort" };
}

const kept = (action: unknown, meta: unknown): unknown =>
  action === "accept" && shapeOf(meta).persist !== undefined ? "acceptForSession" : action;

/** An amended rule lets the same command pass from now on. */
const replies: ReadonlyMap<unknown, PermissionReply> = new Map([
  ["accept", "once"],
  ["approved", "once"],
  ["acceptForSession", "always"],
  ["approved_for_session", "always"],
  ["amended", "always"],
]);

function answersSeen(params: unknown, answers: unknown): string[][] {
  const given = shapeOf(answers);
  return questionIds(params).map((id) => {
    const one = given[id];
    const list = typeof one === "object" && one !== null && "answers" in one ? one.answers : [];
    return Array.isArray(list) ? list.filter((label) => typeof label === "string") : [];
  });
}

/** Answers what an agent asks for: by a rule given on the command line, or by asking the person at the terminal. */
import { ApiError } from "../protocol/errors.ts";
import type { Permission, QuestionRequest, UniversalEvent } from "../protocol/events.ts";
import type { Door } from "./door.ts";
import type { Output } from "./output.ts";

/** `ask` needs a terminal; `absent` is its lack: everything is refused, and it is said why. */
export type AnswerRule = "ask" | "absent" | "approve" | "deny";

export interface AnsweringOptions {
  readonly door: Door;
  readonly session: string;
  readonly rule: AnswerRule;
  readonly output: Output;
  /** The person pressed Ctrl-C at a question. */
  readonly onCancel: () => void;
}

export interface Answering {
  /** Looks at every event; answers requests without holding the stream up. */
  readonly see: (event: UniversalEvent) => void;
  /** Answers one request, of whenever. */
  readonly permission: (permission: Permission) => void;
  readonly question: (request: QuestionRequest) => void;
  /** Takes away the question on the screen, if there is one. */
  readonly stop: () => void;
}

export function openAnswering(options: AnsweringOptions): Answering {
  /** The requests that are open, each with the way to take its question off the screen. */
  const open = new Map<string, AbortController>();
  // One question at a time is on the screen; the others wait for their turn.
  let last: Promise<void> = Promise.resolve();

  const answer = (id: string, work: (signal: AbortSignal) => Promise<void>): void => {
    const controller = new AbortController();
    open.set(id, controller);
    const onError = (error: unknown): void => {
      // Another client was faster, or the turn is over: there is nothing left to answer.
      if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return;
      options.output.say(error instanceof Error ? error.message : String(error));
    };
    last = last.then(() => (controller.signal.aborted ? undefined : work(controller.signal))).catch(onError);
  };
  const forget = (id: string): void => {
    open.get(id)?.abort();
    open.delete(id);
  };

  const permission = (request: Permission): void =>
    answer(request.permission_id, (signal) => answerPermission({ ...options, request, signal }));
  const question = (request: QuestionRequest): void =>
    answer(request.question_id, (signal) => answerQuestion({ ...options, request, signal }));

  return {
    permission,
    question,
    see(event) {
      if (event.type === "permission.requested") permission(event.data);
      else if (event.type === "question.requested") question(event.data);
      else if (event.type === "permission.resolved") forget(event.data.permission_id);
      else if (event.type === "question.resolved") forget(event.data.question_id);
    },
    stop: () => {
      for (const controller of open.values()) controller.abort();
    },
  };
}

interface PermissionStep extends AnsweringOptions {
  readonly request: Permission;
  readonly signal: AbortSignal;
}

async function answerPermission({ door, session, rule, output, onCancel, request, signal }: PermissionStep) {
  const { permission_id, action } = request;
  if (rule === "approve") return door.replyPermission(session, permission_id, { reply: "once" });
  if (rule !== "ask") {
    if (rule === "absent") {
      output.say(
        `${action} is rejected: there is no terminal to ask on. Use --auto-approve, or --deny to say so yourself.`,
      );
    }
    return door.replyPermission(session, permission_id, { reply: "reject" });
  }
  const { askPermission } = await import("./asking.ts");
  const { directory } = await door.get(session);
  if (signal.aborted) return;
  output.pause();
  const reply = await askPermission({ permission: request, directory }, { signal });
  output.resume();
  if (reply === "cancelled") return onCancel();
  if (reply !== null) await door.replyPermission(session, permission_id, reply);
}

interface QuestionStep extends AnsweringOptions {
  readonly request: QuestionRequest;
  readonly signal: AbortSignal;
}

/** No rule can know an answer, so without a person a question is refused whatever the rule. */
async function answerQuestion({ door, session, rule, output, onCancel, request, signal }: QuestionStep): Promise<void> {
  const { question_id } = request;
  const personThere = rule === "ask" || (rule === "approve" && process.stdin.isTTY && process.stderr.isTTY);
  if (!personThere) {
    if (rule !== "deny") output.say("The question is rejected: there is no terminal to ask on.");
    return door.rejectQuestion(session, question_id);
  }
  const { askQuestions } = await import("./asking.ts");
  if (signal.aborted) return;
  output.pause();
  const answers = await askQuestions(request, { signal });
  output.resume();
  if (answers === "cancelled") return onCancel();
  if (answers !== null) await door.replyQuestion(session, question_id, answers);
}

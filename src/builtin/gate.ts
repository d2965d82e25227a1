/** Asks the person: permissions and questions, each answered once, rejected together, and gone when the turn is. */
import type { BuiltinHears, BuiltinQuestion, BuiltinSays } from "../dialects/builtin.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type { Remembered } from "./history.ts";
import type { Law } from "./permissions.ts";
import { Denied, type Permit } from "./tools/tool.ts";

type PermissionAnswer = { readonly reply: PermissionReply; readonly message?: string | undefined };
type QuestionAnswer = { readonly answers: readonly (readonly string[])[] } | { readonly rejected: string | null };

interface Waiting<Answer> {
  readonly always: readonly Remembered[];
  readonly settle: (answer: Answer) => void;
}

/** Who asks. */
export interface Asker {
  readonly tool: string;
  readonly call_id: string;
  readonly input: unknown;
  readonly subagent: string | undefined;
  readonly signal: AbortSignal;
}

export interface Gate {
  readonly permit: (permit: Permit, asker: Asker) => Promise<void>;
  readonly ask: (questions: readonly BuiltinQuestion[], asker: Asker) => Promise<readonly (readonly string[])[]>;
  readonly hear: (line: BuiltinHears) => void;
}

export interface GateOptions {
  readonly law: () => Law;
  readonly remember: (always: readonly Remembered[]) => void;
  readonly say: (line: BuiltinSays) => Promise<void>;
  /** A person's bare "no" ends the turn, so whatever else waits is rejected with it. */
  readonly rejectTogether: boolean;
}

export function createGate({ law, remember, say, rejectTogether }: GateOptions): Gate {
  const permissions = new Map<string, Waiting<PermissionAnswer>>();
  const questions = new Map<string, Waiting<QuestionAnswer>>();
  let count = 0;

  const rejectOthers = (): void => {
    if (!rejectTogether) return;
    for (const [id, { settle }] of [...permissions]) {
      settle({ reply: "reject" });
      void say({ type: "permission.answered", id, reply: "reject" });
    }
    for (const [id, { settle }] of [...questions]) {
      settle({ rejected: null });
      void say({ type: "question.answered", id, answers: null });
    }
  };

  return {
    async permit(permit, asker) {
      const verdict = permit.judge(law());
      if (verdict.effect === "allow") return;
      if (verdict.effect === "deny") throw refusedByRule(permit, verdict.because);
      count += 1;
      const id = `per_${count}_${asker.call_id}`;
      const answered = waitFor(permissions, { id, always: permit.always, signal: asker.signal });
      const { action, patterns, always, metadata } = permit;
      const { tool, call_id, input, subagent } = asker;
      await say({
        type: "permission.asked",
        ...{ id, action, tool, call_id, input, patterns, always, metadata },
        ...(subagent === undefined ? {} : { subagent }),
      });
      const { reply, message } = await answered;
      if (reply === "reject") throw refusedByPerson(message ?? null);
      if (reply === "always") remember(always);
    },
    async ask(asked, asker) {
      count += 1;
      const id = `que_${count}_${asker.call_id}`;
      const answered = waitFor(questions, { id, always: [], signal: asker.signal });
      const { call_id, subagent } = asker;
      await say({
        type: "question.asked",
        ...{ id, call_id, questions: asked },
        ...(subagent === undefined ? {} : { subagent }),
      });
      const answer = await answered;
      if ("rejected" in answer) throw refusedByPerson(answer.rejected);
      return answer.answers;
    },
    hear(line) {
      if (line.type === "permission.reply") {
        permissions.get(line.id)?.settle(line);
        if (line.reply === "reject" && line.message === undefined) rejectOthers();
      } else if (line.type === "question.reply") {
        questions.get(line.id)?.settle({ answers: line.answers });
      } else if (line.type === "question.reject") {
        questions.get(line.id)?.settle({ rejected: line.message ?? null });
        if (line.message === undefined) rejectOthers();
      }
    },
  };
}

/** The abort of a turn is the end of its requests. */
function waitFor<Answer>(
  waiting: Map<string, Waiting<Answer>>,
  { id, always, signal }: { id: string; always: readonly Remembered[]; signal: AbortSignal },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(id);
      signal.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      leave();
      reject(signal.reason);
    };
    waiting.set(id, {
      always,
      settle: (answer) => {
        leave();
        resolve(answer);
      },
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

const refusedByRule = ({ action, patterns }: Permit, because: string): Denied =>
  new Denied(`Not allowed: ${action} ${patterns.join(", ")}, because ${because}.`, { by: "rule", silent: false });

const refusedByPerson = (message: string | null): Denied =>
  new Denied(message === null ? "The user refused this." : `The user refused this and said: ${message}`, {
    by: "person",
    silent: message === null,
  });

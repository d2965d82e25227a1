/** Asks the person: permissions and questions, each answered once, rejected together, and gone when the turn is. */
import { defined } from "../core/defined.ts";
import type { BuiltinHears, BuiltinQuestion, BuiltinSays } from "../dialects/builtin.ts";
import type { RememberedScope } from "../permissions/scopes.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type { Policy } from "./permission/policy.ts";
import { Denied, type Permit } from "./tools/tool.ts";

type PermissionAnswer = { readonly reply: PermissionReply; readonly message?: string | undefined };
type QuestionAnswer = { readonly answers: readonly (readonly string[])[] } | { readonly rejected: string | null };

type Waiting<Answer> = (answer: Answer) => void;

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
  readonly policy: () => Policy;
  readonly remember: (scopes: readonly RememberedScope[]) => void;
  readonly say: (line: BuiltinSays) => Promise<void>;
  /** A person's bare "no" ends the turn, so whatever else waits is rejected with it. */
  readonly rejectTogether: boolean;
}

interface Waitings {
  readonly permissions: Map<string, Waiting<PermissionAnswer>>;
  readonly questions: Map<string, Waiting<QuestionAnswer>>;
}

export function createGate(options: GateOptions): Gate {
  const { policy, remember, say } = options;
  const waiting: Waitings = { permissions: new Map(), questions: new Map() };
  let count = 0;
  return {
    async permit(permit, asker) {
      const verdict = permit.judge(policy());
      if (verdict.action === "allow") return;
      if (verdict.action === "deny") throw refusedByRule(permit, verdict.reason);
      count += 1;
      const id = `per_${count}_${asker.call_id}`;
      const answered = waitFor(waiting.permissions, { id, signal: asker.signal });
      const { action, patterns, always, metadata } = permit;
      const { tool, call_id, input, subagent } = asker;
      await say({
        type: "permission.asked",
        id,
        action,
        tool,
        call_id,
        input,
        patterns,
        always,
        metadata,
        ...defined({ subagent }),
      });
      const { reply, message } = await answered;
      if (reply === "reject") throw refusedByPerson(message ?? null);
      if (reply === "always")
        remember(always.map(({ action: permission, pattern }) => ({ permission, match: "exact", pattern })));
    },
    async ask(asked, asker) {
      count += 1;
      const id = `que_${count}_${asker.call_id}`;
      const answered = waitFor(waiting.questions, { id, signal: asker.signal });
      const { call_id, subagent } = asker;
      await say({
        type: "question.asked",
        id,
        call_id,
        questions: asked,
        ...defined({ subagent }),
      });
      const answer = await answered;
      if ("rejected" in answer) throw refusedByPerson(answer.rejected);
      return answer.answers;
    },
    hear: (line) => hear(line, { waiting, options }),
  };
}

function hear(line: BuiltinHears, { waiting, options }: { waiting: Waitings; options: GateOptions }): void {
  const { permissions, questions } = waiting;
  switch (line.type) {
    case "permission.reply":
      permissions.get(line.id)?.(line);
      if (line.reply === "reject" && line.message === undefined) rejectAll(waiting, options);
      return;
    case "question.reply":
      questions.get(line.id)?.({ answers: line.answers });
      return;
    case "question.reject":
      questions.get(line.id)?.({ rejected: line.message ?? null });
      if (line.message === undefined) rejectAll(waiting, options);
      return;
    default:
      return;
  }
}

function rejectAll({ permissions, questions }: Waitings, { say, rejectTogether }: GateOptions): void {
  if (!rejectTogether) return;
  for (const [id, settle] of [...permissions]) {
    settle({ reply: "reject" });
    void say({ type: "permission.answered", id, reply: "reject" });
  }
  for (const [id, settle] of [...questions]) {
    settle({ rejected: null });
    void say({ type: "question.answered", id, answers: null });
  }
}

/** The abort of a turn is the end of its requests. */
function waitFor<Answer>(
  waiting: Map<string, Waiting<Answer>>,
  { id, signal }: { id: string; signal: AbortSignal },
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
    waiting.set(id, (answer) => {
      leave();
      resolve(answer);
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

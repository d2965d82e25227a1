/** The questions on the screen. Loaded only when an agent asks something and a person is there. */
import { isCancel, multiselect, select, selectKey, text } from "@clack/prompts";
import { defined } from "../core/defined.ts";
import { clean, oneLine } from "../projections/text/index.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type { Permission, Question, QuestionRequest } from "../protocol/events.ts";

/** Null when the request was answered elsewhere, `cancelled` when the person pressed Ctrl-C. */
export type Asked<T> = T | null | "cancelled";

const OWN_WORDS = "\u0000own";
const DETAIL_WIDTH = 400;

/** By letter, and Enter alone says no: nothing is allowed by a key that meant something else. */
const REPLIES: Readonly<Record<string, PermissionReply>> = { y: "once", a: "always" };

export function askPermission(
  permission: Permission,
  { signal }: { signal: AbortSignal },
): Promise<Asked<PermissionReply>> {
  const { action, metadata } = permission;
  const input = metadata.input === undefined ? "" : oneLine(JSON.stringify(metadata.input), { width: DETAIL_WIDTH });
  return whileAsking(signal, async (own) => {
    const key = await selectKey({
      message: `Allow ${clean(action)}? ${input}`,
      options: [
        { value: "n", label: "No", hint: "or Enter" },
        { value: "y", label: "Yes, this time" },
        { value: "a", label: "Yes, always in this session" },
      ],
      output: process.stderr,
      signal: own,
    });
    if (isCancel(key)) return own.aborted ? null : "cancelled";
    return REPLIES[key] ?? "reject";
  });
}

/** A question that was answered still listens, and would take the terminal away from whoever has it by then. */
async function whileAsking<T>(signal: AbortSignal, ask: (own: AbortSignal) => Promise<T>): Promise<T> {
  const asking = new AbortController();
  const stop = (): void => asking.abort();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return await ask(asking.signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

export function askQuestions(
  request: QuestionRequest,
  { signal }: { signal: AbortSignal },
): Promise<Asked<string[][]>> {
  return whileAsking(signal, async (own) => {
    const answers: string[][] = [];
    for (const question of request.questions) {
      const answer = await askOne(question, { signal: own });
      if (answer === null || answer === "cancelled") return answer;
      answers.push(answer);
    }
    return answers;
  });
}

async function askOne(question: Question, { signal }: { signal: AbortSignal }): Promise<Asked<string[]>> {
  const message = clean(question.question);
  const options = question.options.map(({ label, description }) => ({
    value: label,
    label: clean(label),
    ...defined({ hint: description === undefined ? undefined : clean(description) }),
  }));
  const shared = { message, output: process.stderr, signal };
  const cancelled = (): Asked<string[]> => (signal.aborted ? null : "cancelled");
  if (question.multiple && options.length > 0) {
    const chosen = await multiselect<string>({ ...shared, options, required: false });
    return isCancel(chosen) ? cancelled() : chosen;
  }
  if (options.length > 0) {
    const own = question.custom ? [{ value: OWN_WORDS, label: "In my own words…" }] : [];
    const chosen = await select<string>({ ...shared, options: [...options, ...own] });
    if (isCancel(chosen)) return cancelled();
    if (chosen !== OWN_WORDS) return [chosen];
  }
  const written = await text(shared);
  return isCancel(written) ? cancelled() : [written];
}

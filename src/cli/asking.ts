/** The questions on the screen. Loaded only when an agent asks something and a person is there. */
import { isCancel, multiselect, select, text } from "@clack/prompts";
import { clean, oneLine } from "../projections/text/index.ts";
import type { PermissionReply } from "../protocol/commands.ts";
import type { Permission, Question, QuestionRequest } from "../protocol/events.ts";

/** Null when the request was answered elsewhere, `cancelled` when the person pressed Ctrl-C. */
export type Asked<T> = T | null | "cancelled";

const OWN_WORDS = "\u0000own";
const DETAIL_WIDTH = 400;

export async function askPermission(
  permission: Permission,
  { signal }: { signal: AbortSignal },
): Promise<Asked<PermissionReply>> {
  const { action, metadata } = permission;
  const input = metadata.input === undefined ? "" : oneLine(JSON.stringify(metadata.input), { width: DETAIL_WIDTH });
  const reply = await select<PermissionReply>({
    message: `Allow ${clean(action)}? ${input}`,
    options: [
      { value: "once", label: "Yes, this time" },
      { value: "always", label: "Yes, always in this session" },
      { value: "reject", label: "No" },
    ],
    output: process.stderr,
    signal,
  });
  if (isCancel(reply)) return signal.aborted ? null : "cancelled";
  return reply;
}

export async function askQuestions(
  request: QuestionRequest,
  { signal }: { signal: AbortSignal },
): Promise<Asked<string[][]>> {
  const answers: string[][] = [];
  for (const question of request.questions) {
    const answer = await askOne(question, { signal });
    if (answer === null || answer === "cancelled") return answer;
    answers.push(answer);
  }
  return answers;
}

async function askOne(question: Question, { signal }: { signal: AbortSignal }): Promise<Asked<string[]>> {
  const message = clean(question.question);
  const options = question.options.map(({ label, description }) => ({
    value: label,
    label: clean(label),
    ...(description === undefined ? {} : { hint: clean(description) }),
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

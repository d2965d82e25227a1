/** The questions on the screen. Loaded only when an agent asks something and a person is there. */

import { isCancel, multiselect, select, selectKey, text } from "@clack/prompts";
import { allowedFromNowOn, canRemember, scopesOf } from "../core/approval-words.ts";
import { defined } from "../core/defined.ts";
import { visible } from "../core/visible.ts";
import { type ApprovalRequest, approvalLines, oneLine, paintFor } from "../projections/text/index.ts";
import type { PermissionAnswer } from "../protocol/commands.ts";
import type { Permission, Question, QuestionRequest } from "../protocol/events.ts";

/** Null when the request was answered elsewhere, `cancelled` when the person pressed Ctrl-C. */
export type Asked<T> = T | null | "cancelled";

const OWN_WORDS = "\u0000own";
const ALWAYS_WIDTH = 100;

/** Rows of the screen that the question itself takes. */
const QUESTION_ROWS = 8;
/** A screen is taken to have so many rows at the least. */
const MIN_ROWS = 4;

/** Broader scopes have the keys 1 to 9. */
const MAX_SCOPES = 9;

/** Shows all that is asked for before it asks; what is longer than the screen, page by page. */
export function askPermission(
  request: ApprovalRequest,
  { signal }: { signal: AbortSignal },
): Promise<Asked<PermissionAnswer>> {
  const { stderr } = process;
  const paint = paintFor({ color: stderr.isTTY && process.env.NO_COLOR === undefined });
  const { columns = 80, rows = 24 } = stderr;
  const screens = pages(approvalLines(request, paint), { columns, rows: Math.max(MIN_ROWS, rows - QUESTION_ROWS) });
  return whileAsking(signal, async (own) => {
    const cancelled = (): Asked<PermissionAnswer> => (own.aborted ? null : "cancelled");
    for (let page = 0, all = false; page < screens.length; page += 1) {
      stderr.write(`${(screens[page] ?? []).join("\n")}\n`);
      const left = screens.length - page - 1;
      if (left === 0 || all) continue;
      const key = await askMore(left, { signal: own });
      if (isCancel(key)) return cancelled();
      if (key === "n") return { reply: "reject" };
      all = key === "r";
    }
    const message = `Allow ${visible(request.permission.action)}?`;
    const choices = choicesFor(request.permission);
    const options = choices.map(({ value, label, hint }) => ({ value, label, ...defined({ hint }) }));
    const key = await selectKey({ message, options, output: stderr, signal: own });
    if (isCancel(key)) return cancelled();
    return choices.find(({ value }) => value === key)?.answer ?? { reply: "reject" };
  });
}

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
  readonly answer: PermissionAnswer;
}

/** Choices are made by letter. Enter alone denies, so that a key pressed for something else allows nothing. */
function choicesFor(permission: Permission): readonly Choice[] {
  const once: Choice[] = [
    { value: "n", label: "No", hint: "or Enter", answer: { reply: "reject" } },
    { value: "y", label: "Yes, this time", answer: { reply: "once" } },
  ];
  if (!canRemember(permission.metadata)) return once;
  const exact = oneLine(allowedFromNowOn(permission), { width: ALWAYS_WIDTH });
  const scopes = scopesOf(permission).slice(0, MAX_SCOPES);
  return [
    ...once,
    { value: "a", label: `Always: ${exact}`, answer: { reply: "always" } },
    ...scopes.map(
      ({ scope, always }, index): Choice => ({
        value: String(index + 1),
        label: `Always: ${always}`,
        answer: { reply: "always", scope },
      }),
    ),
  ];
}

/** Yes is not among the answers until all has been shown. */
const askMore = (left: number, { signal }: { signal: AbortSignal }): Promise<string | symbol> =>
  selectKey({
    message: `There is more to see before you answer (${left} ${left === 1 ? "page" : "pages"}).`,
    options: [
      { value: "m", label: "Show the next page", hint: "or Enter" },
      { value: "r", label: "Show all the rest" },
      { value: "n", label: "No, reject it" },
    ],
    output: process.stderr,
    signal,
  });

interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** Lines by screens. A line that wraps takes several rows; one that is longer than a screen is broken at its edge. */
export function pages(lines: readonly string[], { columns, rows }: Screen): string[][] {
  const out: string[][] = [];
  let free = 0;
  for (const line of lines) {
    const wrapped = wrap(line, columns);
    for (const piece of wrapped.length > rows ? wrapped : [line]) {
      const height = piece === line ? wrapped.length : 1;
      if (height > free) {
        out.push([]);
        free = rows;
      }
      out.at(-1)?.push(piece);
      free -= height;
    }
  }
  return out;
}

// Our own colours are the only sequences in a line: all others have been made visible.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CELLS = /\u001b\[\d+m|[\s\S]/gu;
const TAB_WIDTH = 8;
/** From here on characters may take two cells. */
const WIDE = "\u1100";

function wrap(line: string, columns: number): string[] {
  const out = [""];
  let width = 0;
  for (const [cell] of line.matchAll(CELLS)) {
    const size = cell.length > 2 ? 0 : cell === "\t" ? TAB_WIDTH : cell >= WIDE ? 2 : 1;
    if (width + size > columns) {
      out.push("");
      width = 0;
    }
    out.push(`${out.pop() ?? ""}${cell}`);
    width += size;
  }
  return out;
}

/** A question that was answered still listens, and would take the terminal away from the next question. */
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
  const message = visible(question.question);
  const options = question.options.map(({ label, description }) => ({
    value: label,
    label: visible(label),
    ...defined({ hint: description === undefined ? undefined : visible(description) }),
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

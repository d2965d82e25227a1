/** Every tool of the builtin agent, one line each. */
import { bash } from "./bash.ts";
import { edit, multiedit } from "./edit.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { list } from "./list.ts";
import { question } from "./question.ts";
import { read } from "./read.ts";
import { task } from "./task.ts";
import { todoread, todowrite } from "./todo.ts";
import type { Tool } from "./tool.ts";
import { webfetch } from "./webfetch.ts";
import { write } from "./write.ts";

export const tools: readonly Tool[] = [
  read,
  write,
  edit,
  multiedit,
  bash,
  glob,
  grep,
  list,
  webfetch,
  todowrite,
  todoread,
  task,
  question,
];

/** What a child may not do: start children, keep the session's list, or talk to the person. */
const notForChildren: ReadonlySet<string> = new Set(["task", "todowrite", "todoread", "question"]);
export const childTools: readonly Tool[] = tools.filter(({ name }) => !notForChildren.has(name));

/** Models trained on other agents write names their way: `Read`, `Bash`. */
export function findTool(offered: readonly Tool[], name: string): Tool | null {
  const wanted = name.toLowerCase();
  return offered.find((tool) => tool.name === name) ?? offered.find((tool) => tool.name === wanted) ?? null;
}

/** Universal → Markdown: a session as a document one can read, keep or paste into an issue. */

import { budgetWords } from "../../core/budget-words.ts";
import { commandOf, titleNames } from "../../core/command.ts";
import type { Fold } from "../../core/fold.ts";
import { visible } from "../../core/visible.ts";
import type { EventOf, UniversalEvent } from "../../protocol/events.ts";
import type { Item, ToolCallPart, ToolResultPart } from "../../protocol/items.ts";

export interface State {
  /** Calls without a result, by call id. */
  readonly calls: Map<string, ToolCallPart>;
}

const OUTPUT_LIMIT = 4_000;

/** Each piece ends in a blank line, so that the pieces joined are the document. */
export const markdownFold: Fold<UniversalEvent, string, State> = {
  start: () => ({ calls: new Map() }),
  step(state, event) {
    switch (event.type) {
      case "session.started":
        return [heading(event)];
      case "session.updated":
        return onSessionUpdated(event);
      case "item.completed":
        return onItem(state, event.data.item);
      case "permission.resolved":
        return [`*Permission for ${code(event.data.action)}: ${event.data.status}*\n\n`];
      case "question.resolved":
        return [onQuestion(event)];
      case "todo.updated":
        return [`${event.data.todos.map(todoLine).join("\n")}\n\n`];
      case "turn.state":
        return event.data.state === "retrying" ? [`*Retrying: ${oneLine(event.data.message ?? "")}*\n\n`] : [];
      case "error":
        // The turn ends by a fatal error, and that line has its message.
        return event.data.fatal ? [] : [`**Error:** ${oneLine(event.data.message)}\n\n`];
      case "budget.updated":
        return [`*${budgetWords(event.data)}*\n\n`];
      case "turn.ended":
        return [onTurnEnded(event)];
      default:
        return [];
    }
  },
};

function heading({ data, session_id }: EventOf<"session.started">): string {
  const { agent, model, directory } = data.metadata;
  const facts = [agent, model, directory].filter((fact) => fact !== null && fact !== "");
  return `# Session ${session_id}\n\n${facts.map((fact) => code(fact ?? "")).join(" · ")}\n\n`;
}

function onSessionUpdated({ data }: EventOf<"session.updated">): string[] {
  const { title, revert, removed = [], share } = data;
  return [
    ...(title === undefined ? [] : [`Title: ${oneLine(title)}`]),
    ...(revert ? [`Taken back from message ${oneLine(revert.message_id)} on`] : []),
    ...removed.map(({ message_id }) => `Removed from the conversation: message ${oneLine(message_id)}`),
    ...(share ? [`Shared at ${oneLine(share.url)}`] : []),
  ].map((line) => `*${line}*\n\n`);
}

function onItem(state: State, item: Item): string[] {
  const who = item.subagent === undefined ? "" : ` (subagent ${item.subagent.name ?? item.subagent.id})`;
  switch (item.kind) {
    case "message":
    case "system":
      return onMessage(item, who);
    case "tool_call": {
      const call = item.content.find((part) => part.type === "tool_call");
      if (call !== undefined) state.calls.set(call.call_id, call);
      return [];
    }
    case "tool_result": {
      const result = item.content.find((part) => part.type === "tool_result");
      if (result === undefined) return [];
      const call = state.calls.get(result.call_id);
      state.calls.delete(result.call_id);
      return [toolBlock({ call, result, item, who })];
    }
    case "status":
    case "unknown":
      return [];
  }
}

function onMessage(item: Item, who: string): string[] {
  return item.content.flatMap((part) => {
    if (part.type === "reasoning") return part.text.trim() === "" ? [] : [`${quoted(part.text)}\n\n`];
    if (part.type === "json" && item.role === "assistant") {
      return [`\`\`\`json\n${JSON.stringify(part.json, null, 2)}\n\`\`\`\n\n`];
    }
    if (part.type !== "text" || part.text === "") return [];
    if (item.role === "user") return [`## Prompt${who}\n\n${part.text}\n\n`];
    return [item.kind === "system" ? `### Summary\n\n${part.text}\n\n` : `${part.text}\n\n`];
  });
}

function toolBlock({
  call,
  result,
  item,
  who,
}: {
  call: ToolCallPart | undefined;
  result: ToolResultPart;
  item: Item;
  who: string;
}): string {
  const name = call?.name ?? "tool";
  const { title, script } = calledWith(call);
  const failed = result.is_error || item.status === "failed";
  const end = failed ? ` — failed${result.exit_code === undefined ? "" : ` (exit ${result.exit_code})`}` : "";
  const files = item.content.filter((part) => part.type === "file_ref").filter(({ action }) => action !== "read");
  const diffs = files.flatMap(({ diff }) => (diff === undefined ? [] : [fenced(diff, "diff")]));
  const output = result.output.trim() === "" ? "" : fenced(clipped(result.output), "");
  const body = diffs.length > 0 ? diffs.join("\n") : output;
  const line = `- **${name}**${title}${who}${end}`;
  if (body === "") return `${line}\n\n${script}`;
  return `${line}\n\n${script}<details><summary>${diffs.length > 0 ? "Changes" : "Output"}</summary>\n\n${body}\n\n</details>\n\n`;
}

/** A command is shown itself, whole: on the tool's line, or below it when it has lines of its own. */
function calledWith(call: ToolCallPart | undefined): { readonly title: string; readonly script: string } {
  if (call === undefined) return { title: "", script: "" };
  const command = commandOf(call);
  const title = call.title === "" || call.title === call.name ? "" : ` ${code(visible(call.title))}`;
  if (command === null) return { title, script: "" };
  const about = titleNames(call.title, command) ? "" : title;
  const shown = visible(command).trim();
  if (shown.includes("\n")) return { title: about, script: `${fenced(shown, "sh")}\n\n` };
  return { title: ` ${code(shown)}${about === "" ? "" : ` ·${about}`}`, script: "" };
}

function onQuestion({ data }: EventOf<"question.resolved">): string {
  const answers = (data.response ?? []).map((labels) => labels.join(", ")).join("; ");
  return `*${oneLine(data.prompt)} — ${data.status === "rejected" ? "not answered" : oneLine(answers)}*\n\n`;
}

function onTurnEnded({ data }: EventOf<"turn.ended">): string {
  const { input, output, reasoning, cache_read } = data.usage.tokens;
  const cost = data.usage.cost_usd === null ? "" : ` · $${data.usage.cost_usd.toFixed(4)}`;
  const why = data.error === undefined ? "" : `: ${oneLine(data.error.message)}`;
  const tokens = `${input + cache_read} tokens in, ${output + reasoning} out`;
  return `*${data.reason}${why} · ${tokens}${cost}*\n\n---\n\n`;
}

const marks = { pending: " ", in_progress: "-", completed: "x", cancelled: "/" } as const;
const todoLine = ({ content, status }: { content: string; status: keyof typeof marks }): string =>
  `- [${marks[status]}] ${oneLine(content)}`;

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const quoted = (text: string): string =>
  text
    .trim()
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");

/** A fence longer than any inside. */
function fenced(text: string, language: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

const code = (text: string): string => {
  const line = oneLine(text);
  return line.includes("`") ? `\`\` ${line} \`\`` : `\`${line}\``;
};

const clipped = (text: string): string =>
  text.length <= OUTPUT_LIMIT ? text : `${text.slice(0, OUTPUT_LIMIT)}\n… (${text.length} characters in all)`;

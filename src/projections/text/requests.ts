/** Permissions and questions as lines of the record: what was asked for, and what was answered. */
import { allowedFromNowOn, subjectOf } from "../../core/approval-words.ts";
import { commandIn } from "../../core/command.ts";
import { visible } from "../../core/visible.ts";
import type { Permission, QuestionRequest } from "../../protocol/events.ts";
import { clean, excerpt, oneLine, type Paint } from "./style.ts";

const DETAIL_WIDTH = 160;

export function permissionLine({ action, metadata }: Permission): string {
  const command = commandIn(metadata.input)?.command;
  const subject = oneLine(visible(subjectOf({ action, metadata })), { width: DETAIL_WIDTH });
  const what = command === undefined ? subject : excerpt(command);
  const tool = metadata.tool === null || metadata.tool === action ? "" : ` (${metadata.tool})`;
  return `${visible(action)}${visible(tool)}${what === "" ? "" : `: ${what.replaceAll("\n", "\n  ")}`}`;
}

export function resolution(permission: Permission, paint: Paint): string {
  if (permission.status === "reject") return paint.red("rejected");
  if (permission.status !== "accept_for_session") return paint.green("allowed");
  const allowed = allowedFromNowOn(permission, permission.metadata.scope);
  return paint.green(`allowed, and from now on: ${oneLine(allowed, { width: DETAIL_WIDTH })}`);
}

export const questionLines = ({ questions }: QuestionRequest): string[] =>
  questions.map(({ question, options }) => {
    const labels = options.map(({ label }) => clean(label)).join(" / ");
    return `${clean(question)}${labels === "" ? "" : ` [${labels}]`}`;
  });

export function answerLine({ status, response }: QuestionRequest, paint: Paint): string {
  if (status !== "answered") return paint.red("not answered");
  return paint.green(oneLine((response ?? []).map((labels) => labels.join(", ")).join("; "), { width: DETAIL_WIDTH }));
}

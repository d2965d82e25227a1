/** What a tool has printed and changed, wherever its agent puts it. */
import { unifiedDiff } from "../../core/diff.ts";
import type { AcpTool, AcpToolContent } from "../../dialects/acp.ts";
import { isInteger, isString, shapeOf } from "../../dialects/shape.ts";
import type { FileRefPart } from "../../protocol/items.ts";
import type { Call } from "./state.ts";

/** The texts among the content. */
export const textOf = (content: readonly AcpToolContent[]): string =>
  content
    .flatMap((one) => {
      const { type, text } = shapeOf(one.content);
      return one.type === "content" && type === "text" && isString(text) ? [text] : [];
    })
    .join("\n");

/** A piece of a terminal's output, by a convention beside the protocol. */
export function terminalOutput({ _meta }: AcpTool): string | null {
  const { terminal_output_delta, terminal_output } = shapeOf(_meta);
  const { data } = shapeOf(terminal_output_delta ?? terminal_output);
  return isString(data) ? data : null;
}

export function exitCodeIn({ _meta, rawOutput, content }: AcpTool): number | null {
  const raw = shapeOf(rawOutput);
  const { contents } = raw;
  const shell = Array.isArray(contents) ? contents.map(shapeOf).find(({ type }) => type === "shell_exit") : undefined;
  const codes = [
    shapeOf(shapeOf(_meta).terminal_exit).exit_code,
    raw.exit_code,
    raw.exitCode,
    shapeOf(raw.metadata).exit,
    shell?.exitCode,
  ];
  const code = codes.find(isInteger);
  if (code !== undefined) return code;
  // Quirk: one agent says it only in words (transcripts/copilot/command-fails).
  const [, said] = /completed with exit code (\d{1,3})>\s*$/.exec(textOf(content ?? [])) ?? [];
  return said === undefined ? null : Number(said);
}

/** The whole output. Text for people may be fenced or numbered; what the tool returned comes first. */
export function outputOf({ content, rawOutput, output }: Call): string {
  if (isString(rawOutput)) return rawOutput;
  const text = textOf(content);
  if (text !== "") return text;
  const raw = shapeOf(rawOutput);
  const said = [
    raw.output,
    raw.formatted_output,
    raw.output_for_prompt,
    raw.content,
    raw.stdout,
    raw.message,
    raw.error,
  ];
  return said.find((one) => isString(one) && one !== "") === undefined ? output : String(said.find(isFilled));
}

const isFilled = (value: unknown): boolean => isString(value) && value !== "";

export function fileRefs({ content, kind, locations }: Call): FileRefPart[] {
  const changed = content.flatMap((one) => (one.type === "diff" ? fileChange(one) : []));
  if (changed.length > 0) return changed;
  const [path] = locations;
  return kind === "read" && path !== undefined ? [{ type: "file_ref", path, action: "read" }] : [];
}

function fileChange({ path, oldText, newText }: AcpToolContent): FileRefPart[] {
  if (path === undefined) return [];
  const before = oldText ?? "";
  const after = newText ?? "";
  const diff = unifiedDiff({ path, before, after });
  return [{ type: "file_ref", path, action: "patch", diff, change: before === "" ? "add" : "update" }];
}

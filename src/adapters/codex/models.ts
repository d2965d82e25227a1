/** The models that Codex knows, from the catalogue it carries: no login and no network are needed to read it. */
import type { ModelSource } from "../../core/capabilities.ts";
import { defined } from "../../core/defined.ts";
import { isNumber, isShape, isString, stringOf } from "../../dialects/shape.ts";
import type { ModelSummary } from "../../protocol/resources.ts";

export const models: ModelSource = { kind: "printed", args: ["debug", "models", "--bundled"], parse };

function parse(output: string): readonly ModelSummary[] {
  const catalogue = parsed(output);
  if (!isShape(catalogue) || !Array.isArray(catalogue.models)) return [];
  return catalogue.models
    .filter(isShape)
    .filter(isListed)
    .sort((a, b) => priorityOf(a) - priorityOf(b))
    .flatMap(summaryOf);
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return null;
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** Some models are for Codex's own purposes, or for few people. */
const isListed = ({ visibility }: Entry): boolean => visibility === undefined || visibility === "list";

const priorityOf = ({ priority }: Entry): number => (typeof priority === "number" ? priority : Number.MAX_SAFE_INTEGER);

function summaryOf(entry: Entry): ModelSummary[] {
  const { slug, display_name, supported_reasoning_levels, default_reasoning_level, context_window: context } = entry;
  if (!isString(slug)) return [];
  const levels = Array.isArray(supported_reasoning_levels) ? supported_reasoning_levels : [];
  const variants = levels.filter(isShape).flatMap(({ effort }) => (isString(effort) ? [effort] : []));
  return [
    {
      id: slug,
      ...defined({
        name: stringOf(display_name),
        variants: variants.length === 0 ? undefined : variants,
        defaultVariant: stringOf(default_reasoning_level),
        limit: isNumber(context) && context > 0 ? { context } : undefined,
      }),
    },
  ];
}

/** The models that OpenCode can reach as it is configured: a line `provider/model` each, then what it knows of it. */

import type { ModelSource } from "../../core/capabilities.ts";
import { defined } from "../../core/defined.ts";
import { type Shape, shapeOf, stringOf } from "../../dialects/shape.ts";
import type { ModelSummary } from "../../protocol/resources.ts";

export const models: ModelSource = { kind: "printed", args: ["models", "--verbose"], parse };

function parse(output: string): readonly ModelSummary[] {
  const summaries: ModelSummary[] = [];
  let about: string[] | null = null;
  for (const line of output.split("\n")) {
    if (about === null && /^[^\s/{}]+\/\S+$/.test(line.trim())) summaries.push({ id: line.trim() });
    if (line === "{") about = [];
    about?.push(line);
    if (line !== "}" || about === null) continue;
    const last = summaries.pop();
    if (last !== undefined) summaries.push({ ...last, ...described(about.join("\n")) });
    about = null;
  }
  return summaries;
}

function described(text: string): Omit<ModelSummary, "id"> {
  const { name, variants, ...about } = parsed(text);
  const names = Object.keys(shapeOf(variants));
  const limit = positive(shapeOf(about.limit), { context: "context", output: "output" });
  const cost = {
    ...positive(shapeOf(about.cost), { input: "input", output: "output" }),
    ...positive(shapeOf(shapeOf(about.cost).cache), { read: "cacheRead", write: "cacheWrite" }),
  };
  return defined({
    name: stringOf(name),
    variants: names.length === 0 ? undefined : names,
    limit: Object.keys(limit).length === 0 ? undefined : limit,
    cost: Object.keys(cost).length === 0 ? undefined : cost,
  });
}

function parsed(text: string): Shape {
  try {
    return shapeOf(JSON.parse(text));
  } catch {
    return {};
  }
}

/** OpenCode says 0 for what it does not know. */
function positive(fields: Shape, names: Readonly<Record<string, string>>): Record<string, number> {
  const out: Record<string, number> = {};
  for (const [name, ours] of Object.entries(names)) {
    const value = fields[name];
    if (typeof value === "number" && value > 0) out[ours] = value;
  }
  return out;
}

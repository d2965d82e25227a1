/** Patterns of permission rules: `*` stands for any characters, `?` for one. Nothing else is special. */

const cache = new Map<string, RegExp>();
const CACHE_LIMIT = 1_000;

/** `git status*` also matches `git status`; `git status *` does too, because arguments are optional to the eye. */
export function matchesPattern({ pattern, text }: { pattern: string; text: string }): boolean {
  let expression = cache.get(pattern);
  if (expression === undefined) {
    expression = compile(pattern);
    if (cache.size >= CACHE_LIMIT) cache.clear();
    cache.set(pattern, expression);
  }
  return expression.test(text);
}

function compile(pattern: string): RegExp {
  const optional = pattern.endsWith(" *");
  const body = optional ? pattern.slice(0, -2) : pattern;
  // A run of stars is one star: two beside each other would only make a long match slow.
  const source = body
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${source}${optional ? "( .*)?" : ""}$`, "s");
}

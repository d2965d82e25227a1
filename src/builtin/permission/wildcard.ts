/** Patterns of permission rules: `*` stands for any characters, `?` for one. Nothing else is special. */

/** `git status *` also matches `git status`, because arguments are optional to the eye. */
export function matchesPattern({ pattern, text }: { pattern: string; text: string }): boolean {
  if (pattern.endsWith(" *") && matches(pattern.slice(0, -2), text)) return true;
  return matches(pattern, text);
}

/** One walk with one place to go back to: a regular expression with many stars could take for ever. */
function matches(pattern: string, text: string): boolean {
  let at = 0;
  let inText = 0;
  let star = -1;
  let resume = 0;
  while (inText < text.length) {
    const wanted = pattern.charAt(at);
    if (wanted === "*") {
      star = at;
      resume = inText;
      at += 1;
    } else if (at < pattern.length && (wanted === "?" || wanted === text.charAt(inText))) {
      at += 1;
      inText += 1;
    } else if (star >= 0) {
      resume += 1;
      inText = resume;
      at = star + 1;
    } else {
      return false;
    }
  }
  while (pattern.charAt(at) === "*") at += 1;
  return at === pattern.length;
}

/** JSON as people write it in settings: with comments, and with commas before a closing bracket. Pure. */

/** The same text as plain JSON. What is in strings stays as it is. */
export function plainJson(text: string): string {
  // What is not closed goes on to the end: no character is looked at twice.
  const tokens = text.matchAll(/"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n\r]*|\/\*[\s\S]*?(?:\*\/|$)|[\s\S]/g);
  let plain = "";
  // A comma is written when something follows it that needs one.
  let comma = false;
  for (const [token] of tokens) {
    const isComment = token.startsWith("//") || token.startsWith("/*");
    if (isComment || token.trim() === "") {
      plain += " ";
      continue;
    }
    if (comma && token !== "}" && token !== "]") plain += ",";
    comma = token === ",";
    if (!comma) plain += token;
  }
  return comma ? `${plain},` : plain;
}

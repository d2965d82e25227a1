/** The paths that a word of a command line may name. Too many is harmless: those that lead nowhere are inside. Pure. */

/** Also inside `--option=path`, `-Cpath`, `-d@path`, `a:b`, after redirections, and in URLs. */
export function pathsIn(word: string): string[] {
  const at = word.indexOf("://");
  if (at < 0) return plainPaths(word);
  const before = word.slice(0, at);
  const rest = word.slice(at + 3);
  // A program that knows no such scheme reads the whole word as a path, `..` and all.
  const paths = [word, ...plainPaths(withoutScheme(before)), ...pathsIn(rest)];
  if (!before.toLowerCase().endsWith("file")) return paths;
  const slash = rest.indexOf("/");
  const local = slash < 0 ? [] : [rest.slice(slash)];
  return [...paths, ...local, ...local.map(decoded)];
}

function plainPaths(word: string): string[] {
  return [word, ...word.split(/[=:,@<>&|]/)].flatMap((part) => {
    const bare = part.replace(/^[<>&\d@]+/, "");
    // Where an option's letters end is not known: a path begins at the first character that only paths have.
    const start = bare.startsWith("-") ? bare.search(/[/~]|\.\./) : -1;
    const inOption = start < 0 ? [] : [bare.slice(start)];
    return bare.startsWith("-") ? [bare, bare.replace(/^--?[a-z]?/i, ""), ...inOption, ...behindLetters(bare)] : [bare];
  });
}

/** Maximum number of letters of options in one word, before the value of the last one. */
const MAX_LETTERS = 8;

/** What may be the value of the last option in a word such as `-uofile`. */
const behindLetters = (word: string): string[] =>
  /^-[a-z0-9]{2}/i.test(word) ? Array.from({ length: MAX_LETTERS }, (_, at) => word.slice(at + 2)) : [];

/** Without the letters that end it: they are no path. */
const withoutScheme = (text: string): string =>
  text.slice(0, text.length - (/[a-z0-9+.-]{0,40}$/i.exec(text)?.[0].length ?? 0));

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
